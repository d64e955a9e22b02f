"""A server that reports with members that no revision names, in an order of its own: `python reports.py ERA`."""

import sys

from stub import Stub, text, tool

META = {"example.com/owner": [None, {"ratio": 1.0}]}
REPORTS = (
    ("notifications/progress", {"progress": 1, "total": 4, "message": "one", "x-own": None, "_meta": META}),
    ("notifications/progress", {"progress": 2, "x-own": [1.0]}),
    ("notifications/message", {"level": "error", "logger": "a", "data": {"n": 1}, "x-own": 1, "_meta": META}),
    ("notifications/progress", {"progress": 2.5, "_meta": META}),
    ("notifications/progress", {"progress": 2**53 + 1, "total": 2**60}),
    ("notifications/message", {"level": "error", "data": None}),
)
"""What a call of `report` tells before it is answered, as it is to reach the client."""

WRONG = (
    {},
    {"progress": None},
    {"progress": "1"},
    {"progress": True},
    {"progress": 10**400},
    {"progress": float("inf")},
)
"""What tells of no progress."""

HALF_WRONG = {"progress": 1, "total": "4", "message": None, "_meta": []}
"""A report of which only the progress can be read."""


class Reporting(Stub):
    """Reports and then answers."""

    name = "reporting"
    claims = ("tools", "logging")
    tools = (tool("report"), tool("fail"), tool("odd"))

    def answer(self, method, params, request_id):
        if method == "tools/list":
            return self.in_era({"tools": list(self.tools)})
        if method == "logging/setLevel":
            return {}
        return super().answer(method, params, request_id)

    def call(self, name, arguments, params, request_id):
        token = (params.get("_meta") or {}).get("progressToken")
        if name == "odd":
            for each in (*WRONG, HALF_WRONG):
                self.notify("notifications/progress", {"progressToken": token, **each})
            return self.in_era(text("done"))
        for method, report in REPORTS:
            named = {"progressToken": token} if method == "notifications/progress" else {}
            self.notify(method, {**named, **report})
        return None if name == "fail" and self.fail(request_id) else self.in_era(text("done"))

    def fail(self, request_id):
        """Answer with an error."""
        self.send({"jsonrpc": "2.0", "id": request_id, "error": {"code": -32000, "message": "no"}})
        return True

    def in_era(self, result):
        """A result with what the modern era asks of each."""
        if self.eras == ("handshake",):
            return result
        return {**result, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


if __name__ == "__main__":
    server = Reporting()
    server.eras = (sys.argv[1],)
    server.run()
