"""Skills that a gateway uses from the start."""

import logging
from collections.abc import Sequence

from toolcrib.crib import Crib
from toolcrib.errors import ToolcribError

logger = logging.getLogger(__name__)


def use_skills(crib: Crib, paths: Sequence[str]) -> None:
    """Use skills: they are there at once, and the servers that they name are turned on while the gateway serves.

    Args:
        crib: The crib, open.
        paths: The skills; see `Crib.use_skill`.

    Raises:
        SkillError: One can't be used.
        DeniedError: The policy hides one.
    """
    ids = [crib.skills.add(path).id for path in paths]

    async def use() -> None:
        for skill in ids:
            try:
                used = await crib.use_skill(skill)
            except ToolcribError as error:  # its file has changed since
                logger.warning("%s: %s", skill, error)
                continue
            for name, why in used.missing.items():
                logger.warning("%s names %s, which is not there: %s", skill, name, why)

    if ids:
        crib.spawn(use)
