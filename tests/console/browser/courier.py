"""A courier's server: its tools are what a file says, and a parcel called `lost` is never answered for.

`courier.py TOOLS GATE`: writes into the named pipe GATE before it falls silent, so that whoever reads it knows.
"""

import json
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "stubs"))

from stub import Stub


class Courier(Stub):
    name = "courier"
    tells_of_changes = True

    @property
    def tools(self):
        return json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))

    def call(self, name, arguments, params, request_id):
        if arguments.get("parcel") == "lost":
            Path(sys.argv[2]).write_bytes(b".")
            signal.pause()
        result = {"parcel": arguments.get("parcel", ""), "at": "Lighthouse depot"}
        return {
            "content": [{"type": "text", "text": json.dumps(result)}],
            "structuredContent": result,
            "isError": False,
        }


Courier().run()
