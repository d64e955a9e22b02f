"""The extras: without any of them everything else works, and none needs another one."""

import json
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]

NEEDED_BY = {
    "anthropic": {"toolcrib.llm.providers.anthropic"},
    "gemini": {"toolcrib.llm.providers.gemini"},
    "langchain": {"toolcrib.adapters.langchain"},
    "openai": {
        "toolcrib.llm.providers.openai_chat",
        "toolcrib.llm.providers.openai_responses",
        "toolcrib.llm.providers.openai_shared",
    },
    "openai-agents": {"toolcrib.adapters.openai_agents"},
    "pydantic-ai": {"toolcrib.adapters.pydantic_ai"},
}
"""The modules that an extra is needed for to be imported at all; the others are asked for when they are used."""

NAMESPACES = {
    "opentelemetry-sdk": "opentelemetry.sdk",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry.exporter",
    "opentelemetry-proto": "opentelemetry.proto",
}
"""Packages whose top folder is also that of a package of the core."""

# Imports all modules but those behind the blocked packages, and prints the ones that could not be.
SCRIPT = """
import importlib, json, pkgutil, sys

blocked = json.loads(sys.argv[1])

class Blocking:
    def find_spec(self, name, path=None, target=None):
        if any(name == each or name.startswith(each + ".") for each in blocked):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocking())
import toolcrib

failed = {}
for module in pkgutil.walk_packages(toolcrib.__path__, "toolcrib."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except Exception as error:
            failed[module.name] = f"{type(error).__name__}: {error}"
print(json.dumps(failed))
"""


def closure(requirements: list[str]) -> set[str]:
    """The names of distributions that some requirements bring, with all that those need."""
    found: set[tuple[str, frozenset[str]]] = set()
    wanted = [Requirement(each) for each in requirements]
    while wanted:
        each = wanted.pop()
        key = (canonicalize_name(each.name), frozenset(each.extras))
        if key in found:
            continue
        found.add(key)
        try:
            needs = requires(each.name) or []
        except PackageNotFoundError:
            continue  # of another system
        for need in map(Requirement, needs):
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in each.extras or ("",)):
                wanted.append(need)
    return {name for name, _ in found}


CORE = closure(PROJECT["dependencies"])
OWN = {extra: closure(requirements) - CORE for extra, requirements in EXTRAS.items()}


def tops_of(distributions: set[str]) -> list[str]:
    """The packages that some distributions, and no others, bring."""
    found = {
        top
        for top, bringing in packages_distributions().items()
        if {canonicalize_name(each) for each in bringing} <= distributions
    }
    return sorted(found | {top for distribution, top in NAMESPACES.items() if distribution in distributions})


def unimportable_without(blocked: set[str]) -> dict[str, str]:
    """The modules that can't be imported where some distributions are missing, and why."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, json.dumps(tops_of(blocked))],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_without_any_extra_only_what_needs_one_is_missing() -> None:
    failed = unimportable_without(set().union(*OWN.values()))
    assert set(failed) == set().union(*NEEDED_BY.values())
    for extra in ("langchain", "openai-agents", "pydantic-ai"):  # modules that people import by themselves
        [module] = NEEDED_BY[extra]
        assert f"pip install 'toolcrib[{extra}]'" in failed[module]


@pytest.mark.slow
@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_needs_no_other_one(extra: str) -> None:
    others = set().union(*(own for name, own in OWN.items() if name != extra)) - OWN[extra]
    failed = unimportable_without(others)
    assert not NEEDED_BY.get(extra, set()) & set(failed), failed


def test_extras_name_nothing_of_the_core_and_no_address() -> None:
    for extra, requirements in EXTRAS.items():
        names = {canonicalize_name(Requirement(each).name) for each in requirements}
        assert not names & CORE, extra
        assert not [each for each in requirements if "@" in each]
