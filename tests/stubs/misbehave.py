"""A server with one bad habit: `python misbehave.py MODE [--log FILE]`.

The modes are the classes here, in `faulty.py`, `listing.py` and `personal.py`.

The habits are those seen of real servers, and the ones that no real server shows on demand.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time

from faulty import FAULTS
from listing import LISTING
from personal import PERSONAL
from stub import RpcError, Stub, text, tool


class Normal(Stub):
    """Has none; speaks the handshake."""


class Modern(Stub):
    """Has none; speaks 2026-07-28 alone."""

    eras = ("modern",)


class CrashOnStart(Stub):
    """Dies before the first message, with many lines on standard error and exit code 3."""

    def run(self):
        for number in range(1, 41):
            print(f"line {number} of the traceback", file=sys.stderr)
        sys.exit(3)


class SilentExit(Stub):
    """Dies before the first message with exit code 4 and no word."""

    def run(self):
        sys.exit(4)


class SilentToProbe(Stub):
    """Does not answer the modern probe, nor anything after it but `initialize` on a new start."""

    probed = False

    def take(self, message):
        self.probed = self.probed or message.get("method") == "server/discover"
        if not self.probed:
            super().take(message)


class DiesOfProbe(Stub):
    """Dies of the modern probe, as servers on SDK 1.6 do."""

    def answer(self, method, params, request_id):
        if method == "server/discover":
            sys.exit(1)
        return super().answer(method, params, request_id)


class NamesOldVersion(Stub):
    """Answers the modern probe with -32022 and versions of the handshake era."""

    def answer(self, method, params, request_id):
        if method == "server/discover":
            data = {"supported": ["2025-06-18"], "requested": "2026-07-28"}
            raise RpcError(-32022, "Unsupported protocol version", data)
        return super().answer(method, params, request_id)


class RefusesOnce(Stub):
    """Answers its first request with -32022, and with the very revision that it was asked in."""

    eras = ("modern",)
    refused = False

    def answer(self, method, params, request_id):
        if self.refused:
            return super().answer(method, params, request_id)
        self.refused = True
        raise RpcError(-32022, "Unsupported protocol version", {"supported": ["2026-07-28"], "requested": "2026-07-28"})


class MovesOn(Stub):
    """Speaks the handshake when it is started first, and 2026-07-28 alone from then on, as after an update."""

    def __init__(self, log):
        super().__init__(log)
        if self.log_path.read_text().count('"event": "start"') > 1:
            self.eras = ("modern",)


class Mute(Stub):
    """Reads everything and answers nothing."""

    def take(self, message):
        pass


class FutureOnly(Stub):
    """Agrees on a revision that nobody knows."""

    protocol_version = "2099-01-01"


class Junk(Stub):
    """Writes lines that are no JSON-RPC between its messages."""

    def send(self, message):
        self.write(b'{"level":"info","msg":"a JSON log line"}\n')
        self.write(b"No X display available\n\n[1, 2]\n")
        super().send(message)


class NotUtf8(Stub):
    """Answers calls with a line that is not UTF-8."""

    def call(self, name, arguments, params, request_id):
        line = json.dumps({"jsonrpc": "2.0", "id": request_id, "result": text("caf@")})
        self.write(line.encode().replace(b"@", b"\xe9") + b"\n")


class CrashInCall(Stub):
    """Dies in the middle of a call."""

    def call(self, name, arguments, params, request_id):
        print("fatal: out of paper", file=sys.stderr, flush=True)
        os._exit(7)


class HalfLine(Stub):
    """Writes half an answer and dies."""

    def call(self, name, arguments, params, request_id):
        self.write(b'{"jsonrpc":"2.0","id":')
        os._exit(0)


class HangInCall(Stub):
    """Never answers a call of `hang`; answers the others."""

    tools = (tool("echo"), tool("hang"))

    def call(self, name, arguments, params, request_id):
        return None if name == "hang" else super().call(name, arguments, params, request_id)


class HangOrCrash(HangInCall):
    """Never answers `hang` and dies of `crash`."""

    tools = (tool("hang"), tool("crash"))

    def call(self, name, arguments, params, request_id):
        if name == "crash":
            os._exit(1)
        return super().call(name, arguments, params, request_id)


class Malformed(Stub):
    """Answers calls with what is neither a result nor an error, each tool in its own way."""

    answers = {  # noqa: RUF012
        "null": '"result":null',
        "list": '"result":[1]',
        "text": '"error":"no"',
        "uncoded": '"error":{"message":"no"}',
        "digits": '"result":{"content":[],"n":' + "9" * 6_000 + "}",
    }
    tools = tuple(tool(name) for name in answers)

    def call(self, name, arguments, params, request_id):
        self.write(f'{{"jsonrpc":"2.0","id":{request_id},{self.answers[name]}}}\n'.encode())


class LineWithoutEnd(Stub):
    """Writes 100 MB to standard error without ending the line, before it answers."""

    def call(self, name, arguments, params, request_id):
        for _ in range(100):
            sys.stderr.write("x" * 1_000_000)
        sys.stderr.flush()
        return super().call(name, arguments, params, request_id)


class Big(Stub):
    """Answers with as many bytes of text as are asked for, 50 MB unless said otherwise."""

    def call(self, name, arguments, params, request_id):
        return text("x" * arguments.get("bytes", 50_000_000))


class Progress(Stub):
    """Reports progress three times, when asked to, before it answers."""

    def call(self, name, arguments, params, request_id):
        token = (params.get("_meta") or {}).get("progressToken")
        if token is not None:
            for done in (1, 2, 3):
                report = {"progressToken": token, "progress": done, "total": 3, "message": f"step {done}"}
                self.notify("notifications/progress", report)
        return super().call(name, arguments, params, request_id)


class SlowProgress(Stub):
    """Takes 0.2 s for each step of a call, of which there are four unless it is told otherwise, and reports progress
    after each when asked to."""

    def call(self, name, arguments, params, request_id):
        token = (params.get("_meta") or {}).get("progressToken")
        for done in range(arguments.get("steps", 4)):
            time.sleep(0.2)
            if token is not None:
                self.notify("notifications/progress", {"progressToken": token, "progress": done})
        return super().call(name, arguments, params, request_id)


class Refuses(Stub):
    """Answers calls with a JSON-RPC error that carries data."""

    def call(self, name, arguments, params, request_id):
        raise RpcError(-32000, "no such row", {"row": 7, "table": None})


class Asks(Stub):
    """Asks the client for things that it never declared, and for a method that no protocol knows."""

    def notified(self, method, params):
        if method == "notifications/initialized":
            self.ask("roots/list")
            sampling = {"messages": [], "maxTokens": 5}
            self.ask("sampling/createMessage", sampling)
            form = {"message": "Your name?", "requestedSchema": {"type": "object", "properties": {}}}
            self.ask("elicitation/create", form)
            self.ask("log", {"level": "info"})
            self.ask("ping")


class HugeTool(Stub):
    """Lists one tool whose definition has three megabytes."""

    tools = (tool("huge", {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(95_000)}}),)


class Grandchild(Stub):
    """Starts a process that outlives it and ignores a polite end; dies of a call itself."""

    def __init__(self, log=None):
        super().__init__(log)
        stubborn = "import signal,time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
        child = subprocess.Popen([sys.executable, "-c", stubborn], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()  # it ignores the signal from here on
        self.note({"event": "grandchild", "pid": child.pid})

    def call(self, name, arguments, params, request_id):
        os._exit(5)


class IgnoresSigterm(Stub):
    """Ends neither with its input nor when asked to."""

    def __init__(self, log=None):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        super().__init__(log)

    def ended(self):
        time.sleep(600)


class SlowToExit(Stub):
    """Takes a moment to clear up after its input has ended, and writes down that it could."""

    def ended(self):
        time.sleep(0.3)
        self.note({"event": "cleared up"})


class ExitsLater(Stub):
    """Dies a moment after it answered a call of `leave`."""

    tools = (tool("echo"), tool("leave"))

    def call(self, name, arguments, params, request_id):
        if name == "leave":
            print("leaving now", file=sys.stderr, flush=True)
            threading.Timer(0.25, os._exit, (9,)).start()
        return super().call(name, arguments, params, request_id)


class Surroundings(Stub):
    """Answers with its environment, working directory and process ids."""

    def call(self, name, arguments, params, request_id):
        return {
            "content": [],
            "structuredContent": {
                "env": dict(os.environ),
                "cwd": os.getcwd(),
                "pid": os.getpid(),
                "group": os.getpgid(0) if hasattr(os, "getpgid") else None,
            },
        }


class Talkative(Stub):
    """Writes far more to standard error than a pipe holds, and then works as usual."""

    def __init__(self, log=None):
        super().__init__(log)
        for number in range(5_000):
            print(f"{number} " + "x" * 200, file=sys.stderr)


class Strange(Stub):
    """Lists definitions and answers calls with members and values that no model of the protocol has."""

    tools = (
        {
            "x-vendor": {"order": [3, 1, 2], "nothing": None},
            "inputSchema": {"type": "object", "properties": {"z": {}, "a": {"default": None}}},
            "name": "strange",
            "id": 9007199254740993,
            "description": None,
            "outputSchema": None,
            "annotations": {"readOnlyHint": None, "category": "x", "conditions": []},
            "icons": "none",
        },
    )

    def call(self, name, arguments, params, request_id):
        return {
            "zeta": None,
            "content": [{"type": "hologram", "depth": 1e300, "empty": {}}, {"type": "text", "text": "\ud800", "n": 0}],
            "structuredContent": [None, 123456789012345678901234567890, -0.0, 0.1, {"b": 1, "a": 2}],
            "_meta": {"own": {"k": None}},
            "isError": None,
        }


OWN = {kind.__name__: kind for kind in list(globals().values()) if isinstance(kind, type) and issubclass(kind, Stub)}
MODES = {name: kind for name, kind in {**OWN, **FAULTS, **LISTING, **PERSONAL}.items() if kind is not Stub}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=sorted(MODES))
    parser.add_argument("--log")
    options = parser.parse_args()
    MODES[options.mode](options.log).run()


if __name__ == "__main__":
    main()
