"""A server whose results are large: `python large.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from stub import RpcError, Stub

ROWS = [{"id": 4_700_000 + number, "name": f"row {number}"} for number in range(5_000)]

RESULTS = {
    "rows": {"content": [{"type": "text", "text": "5000 rows"}], "structuredContent": {"rows": ROWS}},
    "picture": {"content": [{"type": "image", "mimeType": "image/png", "data": "A" * 4_000_000}]},
    "failing": {"content": [{"type": "text", "text": "wrong\n" * 10_000}], "isError": True},
    "send": {"content": [{"type": "text", "text": "sent"}]},
}


class Large(Stub):
    """Answers each call with its own result."""

    name = "large"
    tools = tuple({"name": name, "inputSchema": {"type": "object"}} for name in (*RESULTS, "refuse"))

    def call(self, name, arguments, params, request_id):
        """The result of that name, or a refusal."""
        if name == "refuse":
            raise RpcError(-32000, "row 4700007 is locked")
        return RESULTS[name]


if __name__ == "__main__":
    Large().run()
