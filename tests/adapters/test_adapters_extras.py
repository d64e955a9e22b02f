"""An adapter whose framework is not installed says what to install, and needs none of the others."""

import subprocess
import sys

import pytest

WITHOUT = """
import sys
for name in {names!r}:
    sys.modules[name] = None
from toolcrib.errors import ToolcribError
try:
    import toolcrib.adapters.{module}
except ToolcribError as error:
    print(error)
else:
    print("imported")
"""
MODULES = {"pydantic_ai": "pydantic_ai", "langchain": "langchain_core", "openai_agents": "agents"}


def ran(module: str, *names: str) -> str:
    code = WITHOUT.format(names=names, module=module)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("module", MODULES)
def test_a_missing_framework_is_said_with_its_extra(module: str) -> None:
    said = ran(module, MODULES[module])
    assert f"toolcrib[{module.replace('_', '-')}]" in said
    assert "is not installed" in said


@pytest.mark.parametrize("module", MODULES)
def test_an_adapter_needs_its_own_framework_alone(module: str) -> None:
    pytest.importorskip(MODULES[module])
    others = [name for other, name in MODULES.items() if other != module]
    assert ran(module, *others) == "imported\n"
