"""Replays a recorded catalog: `python replay.py CATALOG.json [--page N] [--era handshake|modern] [--log FILE]`.

Lists what the catalog holds and answers each call with its arguments.
"""

import argparse
import json
from pathlib import Path

from stub import Stub

MEMBERS = {
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


class Replay(Stub):
    """A server that lists a recorded catalog."""

    def __init__(self, catalog, log=None):
        super().__init__(log)
        self.catalog = catalog
        self.name = catalog.get("server", "replay")
        self.tools = catalog["tools"]
        self.capabilities = catalog.get("capabilities") or {"tools": {}}

    def initialize(self):
        result = {
            "protocolVersion": self.catalog.get("protocolVersion", self.protocol_version),
            "capabilities": self.capabilities,
            "serverInfo": self.catalog.get("serverInfo") or {"name": self.name, "version": "1"},
        }
        if self.catalog.get("instructions"):
            result["instructions"] = self.catalog["instructions"]
        return result

    def answer(self, method, params, request_id):
        member = MEMBERS.get(method)
        if member is not None:
            return self.list_page(member, self.catalog.get(member) or [], params)
        return super().answer(method, params, request_id)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("catalog", type=Path)
    parser.add_argument("--page", type=int, default=0)
    parser.add_argument("--era", choices=("handshake", "modern"), default="handshake")
    parser.add_argument("--log")
    options = parser.parse_args()
    server = Replay(json.loads(options.catalog.read_text(encoding="utf-8")), options.log)
    server.page = options.page
    server.eras = (options.era,)
    server.run()


if __name__ == "__main__":
    main()
