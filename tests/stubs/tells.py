"""A server that tells of changes with members that no revision names: `python tells.py ERA`."""

import sys

from stub import RpcError, Stub, tool

META = {"example.com/owner": [None, {"ratio": 1.0}]}
WORDS = {"x-own": {"a": None, "n": 2**53 + 1}, "_meta": META}
CHANGES = (
    ("notifications/tools/list_changed", WORDS),
    ("notifications/resources/list_changed", WORDS),
    ("notifications/prompts/list_changed", WORDS),
    ("notifications/resources/updated", {"uri": "up://fixed", **WORDS}),
    ("notifications/resources/updated", {"uri": "up://fixed/part", **WORDS}),
)
LISTS = {
    "resources/list": {"resources": [{"uri": "up://fixed", "name": "fixed"}]},
    "resources/templates/list": {"resourceTemplates": []},
    "prompts/list": {"prompts": []},
}


class Telling(Stub):
    """Tells of all of it when `change` is called, and has a tool more from then on."""

    name = "telling"
    claims = ("tools", "resources", "prompts")
    tells_of_changes = True
    tools = (tool("change"),)

    def __init__(self):
        super().__init__()
        self.listeners = {}

    def answer(self, method, params, request_id):
        if method == "subscriptions/listen":
            return self.listen(params["notifications"], request_id)
        if method in {"resources/subscribe", "resources/unsubscribe"}:
            return {}
        if method in LISTS:
            return self.in_era(LISTS[method])
        result = super().answer(method, params, request_id)
        return self.in_era(result) if method in {"tools/list", "tools/call"} else result

    def listen(self, wanted, request_id):
        """Acknowledge a subscription, which stays open."""
        if self.eras != ("modern",):
            raise RpcError(-32601, "Method not found: subscriptions/listen")
        self.listeners[request_id] = wanted
        self.tell_listener(request_id, "notifications/subscriptions/acknowledged", {"notifications": wanted})

    def call(self, name, arguments, params, request_id):
        self.tools = (*self.tools, tool(f"more{len(self.tools)}"))
        for method, words in CHANGES:
            if self.eras == ("handshake",):
                self.notify(method, words)
            for number, wanted in self.listeners.items():
                kind = method.split("/")[1]
                is_update = method.endswith("updated")
                if wanted.get("resourceSubscriptions") if is_update else wanted.get(f"{kind}ListChanged"):
                    self.tell_listener(number, method, words)
        return {"content": []}

    def tell_listener(self, number, method, words):
        """Send a notification of a subscription."""
        stamp = {"io.modelcontextprotocol/subscriptionId": number}
        self.notify(method, {**words, "_meta": {**words.get("_meta", {}), **stamp}})

    def in_era(self, result):
        """A result with what the modern era asks of each."""
        if self.eras == ("handshake",):
            return result
        return {**result, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


if __name__ == "__main__":
    server = Telling()
    server.eras = (sys.argv[1],)
    server.run()
