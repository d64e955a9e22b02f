"""More bad habits for `misbehave.py`: lists that repeat, change, go round in circles, fail or are not there."""

from stub import RpcError, Stub, tool


class Duplicates(Stub):
    """Lists a name twice, with different definitions, and entries that are no tools."""

    tools = (tool("twin", title="first"), tool("other"), tool("twin", title="second"), {"title": "no name"}, 7)


class LoopingCursor(Stub):
    """Sends the same cursor again and again."""

    def answer(self, method, params, request_id):
        result = super().answer(method, params, request_id)
        return {**result, "nextCursor": "again"} if method == "tools/list" else result


class EndlessCursor(Stub):
    """Sends a new cursor with every page, and one new tool."""

    def answer(self, method, params, request_id):
        if method != "tools/list":
            return super().answer(method, params, request_id)
        number = int(params.get("cursor", 0))
        return {"tools": [tool(f"tool_{number}")], "nextCursor": str(number + 1)}


class Changing(Stub):
    """Renames a tool at each call of `change`, and says so."""

    tools = (tool("change"), tool("before"))
    tells_of_changes = True

    def call(self, name, arguments, params, request_id):
        if name == "change":
            self.tools = (tool("change"), tool("after"))
            self.notify("notifications/tools/list_changed")
        return super().call(name, arguments, params, request_id)


class ShortTtl(Stub):
    """Renames a tool at each call of `change` and says nothing, but had let its list be fresh for a millisecond."""

    eras = ("modern",)
    tools = (tool("change"), tool("before"))

    def answer(self, method, params, request_id):
        result = super().answer(method, params, request_id)
        return {**result, "ttlMs": 1, "cacheScope": "public"} if method == "tools/list" else result

    def call(self, name, arguments, params, request_id):
        if name == "change":
            self.tools = (tool("change"), tool("after"))
        return super().call(name, arguments, params, request_id)


class ModernChanging(Changing):
    """Does the same in the era of 2026-07-28, where only subscribers are told."""

    eras = ("modern",)
    subscription = None

    def answer(self, method, params, request_id):
        if method != "subscriptions/listen":
            return super().answer(method, params, request_id)
        self.subscription = {"io.modelcontextprotocol/subscriptionId": request_id}
        honored = {"toolsListChanged": params["notifications"].get("toolsListChanged", False)}
        acknowledged = {"_meta": self.subscription, "notifications": honored}
        self.notify("notifications/subscriptions/acknowledged", acknowledged)
        return None

    def notify(self, method, params=None):
        super().notify(method, params or {"_meta": self.subscription})


class Restless(Stub):
    """Reports a change of its tools whenever it is asked for them."""

    tells_of_changes = True

    def answer(self, method, params, request_id):
        if method == "tools/list":
            self.notify("notifications/tools/list_changed")
        return super().answer(method, params, request_id)


class HangInList(Stub):
    """Shakes hands and never answers `tools/list`."""

    def answer(self, method, params, request_id):
        return None if method == "tools/list" else super().answer(method, params, request_id)


class ListError(Stub):
    """Claims tools, and answers `tools/list` with an error."""

    def answer(self, method, params, request_id):
        if method == "tools/list":
            raise RpcError(-32603, "the database is away")
        return super().answer(method, params, request_id)


class NoTools(Stub):
    """Claims no tools, and refuses to list any."""

    claims = ("prompts",)

    def answer(self, method, params, request_id):
        if method == "tools/list":
            raise RpcError(-32601, "Method not found")
        return super().answer(method, params, request_id)


OWN = [kind for kind in list(globals().values()) if isinstance(kind, type) and issubclass(kind, Stub)]
LISTING = {kind.__name__: kind for kind in OWN if kind is not Stub}
