"""A server that lists something else at each start: `python restless.py text|order COUNTER`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "stubs"))

from stub import Stub


class Restless(Stub):
    """Changes a description, or the order of its tools."""

    def __init__(self, habit, counter):
        super().__init__()
        starts = int(counter.read_text()) if counter.exists() else 0
        counter.write_text(str(starts + 1))
        about = f"Start {starts}." if habit == "text" else "Says something."
        names = ["one", "two"] if habit == "text" or starts % 2 else ["two", "one"]
        self.tools = [{"name": name, "description": about, "inputSchema": {"type": "object"}} for name in names]


if __name__ == "__main__":
    Restless(sys.argv[1], Path(sys.argv[2])).run()
