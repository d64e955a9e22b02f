"""A server for the tests of the command line: results of every kind, and parameters of every type."""

import base64
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "stubs"))

from stub import Stub, text

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n not a whole picture").decode()
SOUND = base64.b64encode(b"RIFF sound").decode()
BLOB = base64.b64encode(bytes(range(256))).decode()


def tool(name, description, properties=None, required=(), **more):
    schema = {"type": "object", "properties": properties or {}, "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    return {"name": name, "description": description, "inputSchema": schema, **more}


class Workshop(Stub):
    name = "workshop"
    tools = (
        tool(
            "create_issue",
            "Create an issue in a repository. Its number is answered.",
            {
                "title": {"type": "string", "description": "One line."},
                "count": {"type": "integer"},
                "ratio": {"type": "number"},
                "urgent": {"type": "boolean"},
                "state": {"enum": ["open", "closed"]},
                "labels": {"type": "array", "items": {"type": "string"}},
                "numbers": {"type": "array", "items": {"type": "integer"}},
                "options": {"type": "object"},
                "from": {"type": "string", "description": "A parameter that is a keyword of Python."},
            },
            ["title"],
            annotations={"readOnlyHint": False, "destructiveHint": False},
            **{"x-vendor": {"kept": [1, None]}},
        ),
        tool("say", "Say something as plain text.", {"text": {"type": "string"}}),
        tool("picture", "Draw a picture."),
        tool("bundle", "Answer with every kind of content there is."),
        tool("lines", "Answer with many lines of text.", {"count": {"type": "integer"}}),
        tool("fail", "Fail with an error of the tool's own."),
        tool("refuse", "Answer with an error of the protocol."),
        tool("hang", "Never answer."),
        tool("nothing", "Answer with no content.", annotations={"readOnlyHint": True}),
        {
            "name": "open_schema",
            "description": "Take anything beside one known parameter.",
            "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}},
        },
        tool("danger\x1b[31m", "Hide \x1b]0;owned\x07 \u202eread \x9b31m control codes."),
    )

    def call(self, name, arguments, params, request_id):
        match name:
            case "say":
                return text(arguments.get("text", ""))
            case "picture":
                return {"content": [{"type": "image", "mimeType": "image/png", "data": PIXEL}]}
            case "bundle":
                return {
                    "content": [
                        {"type": "text", "text": "Seven kinds."},
                        {"type": "image", "mimeType": "image/png", "data": PIXEL},
                        {"type": "audio", "mimeType": "audio/wav", "data": SOUND},
                        {"type": "resource_link", "uri": "file:///a.txt", "name": "a.txt", "description": "A file."},
                        {"type": "resource", "resource": {"uri": "x:1", "mimeType": "text/plain", "text": "inner"}},
                        {"type": "resource", "resource": {"uri": "x:2", "blob": BLOB}},
                        {"type": "image", "mimeType": "image/png", "data": "no base64!"},
                        {"type": "hologram", "depth": 3},
                    ],
                    "structuredContent": {"kinds": 7},
                }
            case "lines":
                return text("\n".join(f"line {number}" for number in range(arguments.get("count", 100_000))))
            case "fail":
                return {**text("out of paper"), "isError": True}
            case "refuse":
                self.send({"jsonrpc": "2.0", "id": request_id, "error": {"code": -32000, "message": "no such row"}})
                return None
            case "hang":
                return None
            case "nothing":
                return {"content": []}
            case _:
                return super().call(name, arguments, params, request_id)


if __name__ == "__main__":
    Workshop(sys.argv[1] if len(sys.argv) > 1 else None).run()
