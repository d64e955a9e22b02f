"""More modes for `misbehave.py`: servers that treat callers differently, ask them, or overwhelm them."""

import json
import sys

from stub import RpcError, Stub, text, tool

NOBODY = -32603


class Personal(Stub):
    """Knows the capabilities of whom it speaks to."""

    declared = ()

    def answer(self, method, params, request_id):
        if method == "initialize":
            self.declared = params["capabilities"]
        return super().answer(method, params, request_id)


class AsksInCall(Personal):
    """Asks for the roots in each call, and answers with what it was told."""

    waiting = ()

    def take(self, message):
        if "method" in message:
            super().take(message)
            return
        call, *self.waiting = self.waiting
        told = message.get("result", message.get("error"))
        self.send({"jsonrpc": "2.0", "id": call, "result": text(json.dumps(told))})

    def call(self, name, arguments, params, request_id):
        self.waiting = (*self.waiting, request_id)
        self.ask("roots/list")


class KeepsRoots(Personal):
    """Asks for the roots when it is told that they have changed, and answers calls with those that it knows."""

    roots = ()

    def notified(self, method, params):
        if method == "notifications/roots/list_changed":
            self.ask("roots/list")

    def take(self, message):
        if "result" in message:
            self.roots = message["result"]["roots"]
        super().take(message)

    def call(self, name, arguments, params, request_id):
        return text(json.dumps(self.roots))


class ListsByCapabilities(Personal):
    """Lists one more tool to whom has roots."""

    def list_page(self, member, entries, params):
        more = (tool("in_roots"),) if "roots" in self.declared else ()
        return super().list_page(member, (*entries, *more), params)


class ListsToCallersAlone(ListsByCapabilities):
    """Lists nothing to whom has no roots."""

    def list_page(self, member, entries, params):
        if "roots" not in self.declared:
            raise RpcError(NOBODY, "no roots, no tools")
        return super().list_page(member, entries, params)


class CrashAfterList(Stub):
    """Dies once it has listed its tools, each time."""

    def answer(self, method, params, request_id):
        result = super().answer(method, params, request_id)
        if method == "tools/list":
            self.send({"jsonrpc": "2.0", "id": request_id, "result": result})
            raise SystemExit(5)
        return result


class Flood(Stub):
    """Reports progress and logs many thousand times each before it answers a call of `flood`."""

    tools = (tool("echo"), tool("flood"))

    def call(self, name, arguments, params, request_id):
        if name == "flood":
            token = (params.get("_meta") or {}).get("progressToken")
            for done in range(1, arguments.get("reports", 50_000) + 1):
                self.write_notification("notifications/progress", {"progressToken": token, "progress": done})
                self.write_notification("notifications/message", {"level": "info", "data": "still at it"})
        return super().call(name, arguments, params, request_id)

    def write_notification(self, method, params):
        """Write without flushing, as fast as can be."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")


class RemovesInCall(Stub):
    """Removes the tool `fleeting` while it is called, says so, and answers that call with the next one."""

    tools = (tool("echo"), tool("fleeting"))
    tells_of_changes = True
    waiting = None

    def call(self, name, arguments, params, request_id):
        if name == "fleeting":
            self.waiting, self.tools = request_id, (tool("echo"),)
            self.notify("notifications/tools/list_changed")
            return None
        if self.waiting is not None:
            self.send({"jsonrpc": "2.0", "id": self.waiting, "result": text("in the end")})
            self.waiting = None
        return super().call(name, arguments, params, request_id)


class Discovered(Stub):
    """Says of itself how often it was asked, and that this is fresh for a fifth of a second."""

    eras = ("modern",)
    times = 0

    def discover(self):
        self.times += 1
        return {**super().discover(), "instructions": f"Asked {self.times} times.", "ttlMs": 200}


class Private(Stub):
    """Lists other tools each time, and says that each list and resource is private, and fresh for a minute; at each
    call of `change` it says that all has changed."""

    eras = ("modern",)
    claims = ("tools", "resources")
    tells_of_changes = True
    scope = "private"
    words = ("giraffe", "walrus", "pelican", "hedgehog", "jackdaw")
    listed = read = 0
    subscription = None

    def answer(self, method, params, request_id):
        if method == "tools/list":
            self.listed += 1
            tools = [tool("echo"), tool(f"seen_{self.listed}"), tool("change")]
            tools[0]["description"] = f"Made for the {self.words[self.listed % len(self.words)]}."
            return self.kept({"tools": tools})
        if method == "resources/read":
            self.read += 1
            return self.kept({"contents": [{"uri": params["uri"], "text": str(self.read)}]})
        if method == "resources/list":
            self.read += 1
            return self.kept({"resources": [{"uri": f"number:{self.read}", "name": "r"}]})
        if method == "subscriptions/listen":
            self.subscription = {"io.modelcontextprotocol/subscriptionId": request_id}
            self.tell("subscriptions/acknowledged", notifications=params["notifications"])
            return None
        return super().answer(method, params, request_id)

    def call(self, name, arguments, params, request_id):
        if name == "change":
            self.tell("tools/list_changed")
            self.tell("resources/list_changed")
            self.tell("resources/updated", uri="a:b")
        return super().call(name, arguments, params, request_id)

    def tell(self, what, **params):
        """Notify the subscriber."""
        self.notify(f"notifications/{what}", {"_meta": self.subscription, **params})

    def kept(self, result):
        """A result with what it says of itself."""
        return {**result, "resultType": "complete", "ttlMs": 60_000, "cacheScope": self.scope}


class Public(Private):
    """The same for everybody."""

    scope = "public"


PERSONAL = {
    kind.__name__: kind for kind in list(globals().values()) if isinstance(kind, type) and issubclass(kind, Stub)
}
del PERSONAL["Stub"], PERSONAL["Personal"]
