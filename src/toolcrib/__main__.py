"""`python -m toolcrib`: the command line."""

import sys

from toolcrib.cli import main

if __name__ == "__main__":
    sys.exit(main())
