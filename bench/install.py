"""What an installation takes: the size of the core and its dependencies on the disk, and how long an import lasts.

The package is built and installed, without extras, into an environment of its own under `.bench`.
"""

import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from bench.processes import ROOT
from bench.report import Spread, Target, arguments, emit

IMPORTS = 15
_TIMED = "import time; start = time.perf_counter(); import toolcrib; print((time.perf_counter() - start) * 1000)"
_DEMO = ["toolcrib", "--version"]
_OF_PIP = ("pip", "setuptools", "_distutils_hack", "distutils-precedence.pth")


def installed_into(folder: Path) -> Path:
    """The interpreter of a new environment with the package as it is now."""
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as wheels:
        subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, str(ROOT)], check=True, stdout=sys.stderr)
        wheel = next(Path(wheels).glob("*.whl"))
        subprocess.run([*pip, "install", str(wheel)], check=True, stdout=sys.stderr)
    return python


def megabytes(folder: Path) -> float:
    """What an environment's packages take, without pip and compiled caches."""
    packages = next(folder.glob("lib*/python*/site-packages"), folder / "Lib" / "site-packages")
    files = (
        each
        for top in packages.iterdir()
        if not top.name.startswith(_OF_PIP)
        for each in ([top] if top.is_file() else top.rglob("*"))
        if each.is_file() and "__pycache__" not in each.parts
    )
    return round(sum(each.stat().st_size for each in files) / 1e6, 1)


def measure() -> tuple[dict[str, Any], list[Target]]:
    """Install, and measure."""
    folder = ROOT / ".bench" / "install"
    python = installed_into(folder)
    away = tempfile.gettempdir()  # not the clone, whose sources would be found first
    times = [
        float(subprocess.run([str(python), "-c", _TIMED], cwd=away, check=True, capture_output=True, text=True).stdout)
        for _ in range(IMPORTS + 1)
    ][1:]  # the first one compiles
    said = subprocess.run(
        [str(python.with_name(_DEMO[0])), *_DEMO[1:]], cwd=away, check=True, capture_output=True, text=True
    ).stdout.strip()
    spread = Spread.of(times)
    size = megabytes(folder)
    figures: dict[str, Any] = {
        "installed": said,
        "size_mb": size,
        "import_ms": {"n": spread.n, "median": spread.median, "p90": spread.p90},
    }
    return figures, [
        Target("core with its dependencies on the disk", size, "MB", 240),
        Target("import toolcrib, median", spread.median, "ms", 60),
    ]


def main() -> None:
    """The command."""
    options = arguments(__doc__ or "").parse_args()
    figures, targets = measure()
    emit("install", figures, targets, as_json=options.json)


if __name__ == "__main__":
    main()
