"""The configured skills: whether their folders are there, and each can be used."""

from collections.abc import Iterator

from toolcrib.crib import Crib
from toolcrib.doctor.finding import Finding

CHECK = "skills"


def check_skills(crib: Crib) -> Iterator[Finding]:
    """What is wrong with the skills of the configured folders, and what is odd about them."""
    if not crib.has_skills:
        return
    for path, why in crib.skills.problems.items():
        yield Finding(CHECK, "warning", None, f"{path}: {why}")
    known = len(crib.skills.known())
    if known:
        yield Finding(CHECK, "ok", None, f"{known} skill{'' if known == 1 else 's'} can be found and read.")
