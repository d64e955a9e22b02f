"""A server that asks with members that no revision names, and answers with what it was told: `python asks.py ERA`."""

import sys

from stub import Stub, tool

META = {"example.com/owner": [None, {"ratio": 1.0}]}
QUESTIONS = {
    "form": (
        "elicitation/create",
        {
            "mode": "form",
            "message": "Which?",
            "requestedSchema": {"type": "object", "properties": {"n": {"type": "integer", "x-own": 1}}, "x-own": None},
            "x-own": {"a": None},
            "_meta": META,
        },
    ),
    "model": (
        "sampling/createMessage",
        {
            "messages": [{"role": "user", "content": {"type": "text", "text": "?", "x-own": 1}, "x-own": [1.0]}],
            "maxTokens": 5,
            "metadata": {"a": None},
            "x-own": 2**53 + 1,
            "_meta": META,
        },
    ),
    "roots": ("roots/list", {"x-own": 1, "_meta": META}),
}

STEPS = 5
"""How often it tells of progress before it asks."""

ANSWERS = {
    "form": {"action": "accept", "content": {"n": 1}, "x-own": None, "_meta": META},
    "model": {
        "role": "assistant",
        "content": {"type": "text", "text": "!", "x-own": 1, "_meta": META},
        "model": "m",
        "x-own": 1.0,
        "_meta": META,
    },
    "roots": {"roots": [{"uri": "file:///home", "x-own": None, "_meta": META}], "x-own": [], "_meta": META},
}
"""What a client answers."""


class Asking(Stub):
    """Asks in the middle of a call, or by its answer."""

    name = "asking"
    tools = tuple(tool(name) for name in QUESTIONS)
    waiting = None

    def answer(self, method, params, request_id):
        if method == "tools/list":
            return self.in_era({"tools": list(self.tools)})
        return super().answer(method, params, request_id)

    def call(self, name, arguments, params, request_id):
        method, question = QUESTIONS[name]
        told = params.get("inputResponses")
        for step in range(STEPS if told is None else 0):
            self.notify("notifications/progress", {"progressToken": params["_meta"]["progressToken"], "progress": step})
        if self.eras == ("handshake",):
            self.waiting = request_id
            self.ask(method, question)
            return None
        if told is not None:
            return self.in_era(self.heard(told["q"]))
        return {
            "resultType": "input_required",
            "inputRequests": {"q": {"method": method, "params": question}},
            "requestState": "s",
        }

    def take(self, message):
        """Answer a message, or take the answer to what was asked."""
        if "method" in message:
            super().take(message)
        elif self.waiting is not None:
            self.send({"jsonrpc": "2.0", "id": self.waiting, "result": self.heard(message.get("result"))})

    def heard(self, told):
        """A result that tells what was heard."""
        return {"content": [], "structuredContent": {"told": told}}

    def in_era(self, result):
        """A result with what the modern era asks of each."""
        if self.eras == ("handshake",):
            return result
        return {**result, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


if __name__ == "__main__":
    server = Asking()
    server.eras = (sys.argv[1],)
    server.run()
