"""Runs another server and writes down what is sent to it: `python tee.py LOG COMMAND [ARGUMENT ...]`."""

import contextlib
import subprocess
import sys
from pathlib import Path


def main():
    log, *command = sys.argv[1:]
    child = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert child.stdin is not None
    with Path(log).open("ab", buffering=0) as file:
        file.write(b'{"event": "start"}\n')
        for line in sys.stdin.buffer:
            file.write(line)
            try:
                child.stdin.write(line)
                child.stdin.flush()
            except OSError:
                break
    with contextlib.suppress(OSError):
        child.stdin.close()
    sys.exit(child.wait())


if __name__ == "__main__":
    main()
