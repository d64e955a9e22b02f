"""More bad habits for `misbehave.py`: answers that nobody asked for, broken lines, ends at every moment, storms."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import zlib

from stub import RpcError, Stub, text, tool


class WrongId(Stub):
    """Answers calls of `wrong` under an id that nobody used; answers the others."""

    tools = (tool("echo"), tool("wrong"))

    def call(self, name, arguments, params, request_id):
        if name == "wrong":
            self.send({"jsonrpc": "2.0", "id": 987_654, "result": text("for whom?")})
            return None
        return super().call(name, arguments, params, request_id)


class AnswersTwice(Stub):
    """Answers everything twice, the second time with an error."""

    def send(self, message):
        super().send(message)
        if "result" in message:
            super().send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32603, "message": "again"}})


class IgnoresCancellation(Stub):
    """Answers a call of `slow` only once it was cancelled, as if it had not been."""

    tools = (tool("echo"), tool("slow"))
    slow = ()

    def call(self, name, arguments, params, request_id):
        if name == "slow":
            self.slow = (*self.slow, request_id)
            return None
        return super().call(name, arguments, params, request_id)

    def notified(self, method, params):
        if method == "notifications/cancelled" and params.get("requestId") in self.slow:
            self.send({"jsonrpc": "2.0", "id": params["requestId"], "result": text("too late")})


class IgnoresEnd(Stub):
    """Goes on when its input has ended; ends when asked to by a signal."""

    def ended(self):
        time.sleep(600)


class CrashBeforeCall(Stub):
    """Dies a moment after it has listed its tools."""

    def answer(self, method, params, request_id):
        if method == "tools/list":
            threading.Timer(0.02, os._exit, (6,)).start()
        return super().answer(method, params, request_id)


class CrashAfterCall(Stub):
    """Dies as soon as it has answered a call."""

    def send(self, message):
        super().send(message)
        if "content" in message.get("result", {}):
            os._exit(8)


class HalfLineAndOn(Stub):
    """Writes half an answer to a call of `half`, and goes on with the next line behind it."""

    tools = (tool("echo"), tool("half"))

    def call(self, name, arguments, params, request_id):
        if name == "half":
            self.write(b'{"jsonrpc":"2.0","id":')
            return None
        return super().call(name, arguments, params, request_id)


class HugeJunk(Stub):
    """Writes a line of ten megabytes that is no JSON-RPC before it answers a call."""

    def call(self, name, arguments, params, request_id):
        self.write(b"x" * 10_000_000 + b"\n")
        return super().call(name, arguments, params, request_id)


class Babbles(Stub):
    """Writes twenty thousand lines that are no JSON-RPC before it answers a call."""

    def call(self, name, arguments, params, request_id):
        self.write(b"and another thing\n" * 20_000)
        return super().call(name, arguments, params, request_id)


class ClosesOutput(Stub):
    """Closes its output at a call and lives on."""

    def call(self, name, arguments, params, request_id):
        os.close(sys.stdout.fileno())
        time.sleep(600)


class ClosesInput(Stub):
    """Closes its input at a call and lives on."""

    def call(self, name, arguments, params, request_id):
        os.close(sys.stdin.fileno())
        time.sleep(600)


class Wrapper(Stub):
    """Dies of a call and leaves a process behind that keeps its output open, and reads nothing."""

    def call(self, name, arguments, params, request_id):
        subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL)
        os._exit(9)


class StopsReading(Stub):
    """Stops reading after its listing, so that whoever writes much to it waits."""

    def answer(self, method, params, request_id):
        result = super().answer(method, params, request_id)
        if method == "tools/list":
            self.send({"jsonrpc": "2.0", "id": request_id, "result": result})
            time.sleep(600)
        return result


class SlowStart(Stub):
    """Needs half a second until it reads."""

    def run(self):
        time.sleep(0.5)
        super().run()


class RefusesOtherLists(Stub):
    """Claims resources and prompts, and refuses to list them."""

    claims = ("tools", "resources", "prompts")

    def answer(self, method, params, request_id):
        if method in {"resources/list", "resources/templates/list", "prompts/list"}:
            raise RpcError(-32601, "Method not found")
        return super().answer(method, params, request_id)


class Storm(Stub):
    """Renames one tool and removes another at each call, and reports that as thirty changes at once."""

    tools = (tool("change"), tool("name_0"), tool("spare_0"), tool("spare_1"))
    tells_of_changes = True
    renamed = 0

    def call(self, name, arguments, params, request_id):
        self.renamed += 1
        spare = [tool(f"spare_{number}") for number in range(max(0, 2 - self.renamed))]
        self.tools = (tool("change"), tool(f"name_{self.renamed}"), *spare)
        for _ in range(30):
            self.notify("notifications/tools/list_changed")
        return super().call(name, arguments, params, request_id)


class Paged(Stub):
    """Lists seven tools by pages of two."""

    page = 2
    tools = tuple(tool(f"tool_{number}") for number in range(7))


class OddNames(Stub):
    """Lists names with blanks, slashes, other scripts, keywords and 200 characters, and one that is empty."""

    tools = tuple(tool(name) for name in ("two words", "a/b", "a.b", "suche_größe", "检索", "import", "n" * 200, ""))


class OddSchemas(Stub):
    """Lists schemas that are booleans, invalid, endless, of another root, or refer to somewhere else."""

    tools = (
        tool("boolean", True),
        tool("absent", None),
        tool("array", {"type": "array"}),
        tool("wrong", {"type": "objekt", "required": "all", "properties": {"a": {"minimum": "x"}}}),
        tool("pattern", {"type": "object", "properties": {"a": {"pattern": "("}}}),
        tool("elsewhere", {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}),
        tool("unresolved", {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}),
        tool("endless", {"$ref": "#"}),
    )


class Nags(Stub):
    """Sends two hundred requests that the client can't answer before it answers a call."""

    def call(self, name, arguments, params, request_id):
        for _ in range(200):
            self.ask("sampling/createMessage", {"messages": [], "maxTokens": 1, "tools": [tool("inner")]})
        return super().call(name, arguments, params, request_id)


class UnknownProgress(Stub):
    """Reports progress of requests that nobody made, and backwards, before it answers a call."""

    def call(self, name, arguments, params, request_id):
        for token in ("nobody", 987_654, (params.get("_meta") or {}).get("progressToken")):
            for done in (3, 1, -1):
                self.notify("notifications/progress", {"progressToken": token, "progress": done})
        return super().call(name, arguments, params, request_id)


class Flaky(Stub):
    """Crashes, hangs or babbles at one call in ten, decided by the seed and number in the call's arguments.

    What it does to a call depends on nothing else, so that it is the same however often it was started.
    """

    habits = ("crash", "crash afterwards", "half a line", "hang", "babble", "wrong id", "twice")

    def call(self, name, arguments, params, request_id):
        chance = zlib.crc32(f"{arguments['seed']}-{arguments['number']}".encode())
        habit = "" if chance % 10 else self.habits[chance // 10 % len(self.habits)]
        answer = super().call(name, arguments, params, request_id)
        if habit == "crash":
            os._exit(1)
        if habit == "half a line":
            self.write(b'{"jsonrpc":"2.0","id":')
            os._exit(1)
        if habit == "babble":
            self.write(b"and another thing\n" * 1_000 + b"\xff\xfe\n[]\n")
        if habit == "wrong id":
            self.send({"jsonrpc": "2.0", "id": 987_654, "result": answer})
        if habit in {"twice", "crash afterwards"}:
            self.send({"jsonrpc": "2.0", "id": request_id, "result": answer})
        if habit == "crash afterwards":
            os._exit(1)
        return None if habit in {"hang", "wrong id"} else answer


class EndsWithAnError(Stub):
    """Ignores an interrupt, and ends with a stack of lines on standard error when its input ends."""

    def __init__(self, log=None):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        super().__init__(log)

    def ended(self):
        raise RuntimeError(json.dumps({"why": "a client has no business to leave"}))


FAULTS = {kind.__name__: kind for kind in list(globals().values()) if isinstance(kind, type) and issubclass(kind, Stub)}
del FAULTS["Stub"]
