"""A server whose resources, templates and prompts have members that no revision names: `python offers.py ERA`."""

import sys

from stub import Stub

META = {"example.com/owner": [None, {"ratio": 1.0}]}
ICON = {"src": "data:,", "theme": "dark", "x-own": 1}

LISTS = {
    "resources/list": (
        "resources",
        [
            {
                "uri": "rel/path",
                "name": "relative",
                "size": 2**53 + 1,
                "icons": [ICON],
                "annotations": {"audience": ["user"], "lastModified": "2020", "x-own": None},
                "x-own": {"a": None},
                "_meta": META,
            }
        ],
    ),
    "resources/templates/list": (
        "resourceTemplates",
        [{"uriTemplate": "o://{?q*,r:3}{/x}{&y}", "name": "odd variables", "x-own": 1, "_meta": META}],
    ),
    "prompts/list": (
        "prompts",
        [
            {
                "name": "alone",
                "title": "Alone",
                "arguments": [{"name": "ä b", "required": False, "title": "T", "x-own": 1}, {"name": ""}],
                "icons": [ICON],
                "x-own": None,
                "_meta": META,
            }
        ],
    ),
}

ANSWERS = {
    "resources/read": {
        "contents": [{"uri": "rel/path", "text": "", "x-own": 1, "_meta": META}, {"uri": "b", "blob": "", "x-own": []}]
    },
    "prompts/get": {
        "description": "",
        "messages": [
            {"role": "user", "content": {"type": "hologram", "depth": None}, "x-own": 2},
            {"role": "assistant", "content": {"type": "resource", "resource": {"uri": "../x", "text": "", "x-own": 1}}},
        ],
    },
    "completion/complete": {"completion": {"values": ["a"], "total": 5, "hasMore": True, "x-own": 1}},
}


class Offers(Stub):
    """Answers those, each with what was asked in `x-asked`."""

    name = "offers"
    claims = ("resources", "prompts", "completions")

    def answer(self, method, params, request_id):
        if method in LISTS:
            member, entries = LISTS[method]
            return self.in_era({member: entries})
        if method in ANSWERS:
            asked = {key: value for key, value in params.items() if key != "_meta"}
            return self.in_era({**ANSWERS[method], "x-asked": asked, "_meta": META})
        return super().answer(method, params, request_id)

    def in_era(self, result):
        """A result with what the modern era asks of each."""
        if self.eras == ("handshake",):
            return result
        return {**result, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


if __name__ == "__main__":
    server = Offers()
    server.eras = (sys.argv[1],)
    server.run()
