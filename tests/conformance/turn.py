"""Runs a program when it is its turn: `turn.py FOLDER PROGRAM ARGUMENT …`, as many at a time as there are cores.

The suite starts the programs of all its client scenarios at once. Forty interpreters that load at the same time take so
long on a small machine that limits of seconds are overrun, in the programs and in the suite.
"""

import fcntl
import os
import runpy
import sys
from pathlib import Path


def main() -> None:
    folder, *sys.argv = sys.argv[1:]
    with (Path(folder) / f"turn-{os.getpid() % (os.cpu_count() or 1)}").open("w") as queue:
        fcntl.flock(queue, fcntl.LOCK_EX)  # let go of when the program ends, however it does
        sys.path.insert(0, str(Path(sys.argv[0]).parent))
        runpy.run_path(sys.argv[0], run_name="__main__")


main()
