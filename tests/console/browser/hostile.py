"""A server that says whatever may do harm on a page: markup, scripts, links, hidden characters, templates, a megabyte.

`hostile.py [fail]`: with `fail` it says it on standard error and ends.
"""

import base64
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "stubs"))

from stub import Stub

ACT = "window.owned=1"
TEXT = (
    f"<script>{ACT}</script><img src=x onerror={ACT}><svg onload={ACT}>"
    f"</textarea></title></style></script></pre><iframe srcdoc='<script>top.{ACT}</script>'></iframe>"
    f"<a href='javascript:{ACT}' onclick={ACT}>link</a> [link](javascript:{ACT}) "
    f"\" autofocus onfocus={ACT} ' onmouseover={ACT} `${{{ACT}}}` "
    "{{ 7131*7 }} {% include 'base.html' %} ${7131*7} "
    "\u202egnp.exe\u2066 \x1b[31mred\x1b]0;title\x07 \x00\x08 \u200b\u2028 \U000e0041 <!--"
)
"""What must be shown as it is, and do nothing."""

HUGE = "All work and no play. " * 50_000
"""1.1 MB."""

DRAWING = base64.b64encode(f"<svg xmlns='http://www.w3.org/2000/svg' onload='{ACT}'/>".encode()).decode()


def tool(name, description=TEXT, properties=None, **more):
    schema = {"type": "object", "description": TEXT, "properties": properties or {}}
    return {"name": name, "title": TEXT, "description": description, "inputSchema": schema, **more}


class Hostile(Stub):
    name = TEXT[:60]
    tools = (
        tool(
            "say",
            properties={
                "</textarea><script>": {"type": "string", "description": TEXT, "default": TEXT},
                "choice": {"enum": [TEXT[:80], "javascript:window.owned=1", None], "title": TEXT},
                "many": {"type": "array", "items": {"type": "object", "properties": {TEXT[:40]: {"const": TEXT}}}},
            },
            annotations={"readOnlyHint": True, "title": TEXT},
            outputSchema={"type": "object", "description": TEXT},
            icons=[{"src": f"javascript:{ACT}"}, {"src": "http://elsewhere.test/pixel.png"}],
            _meta={"io.modelcontextprotocol/groups": [TEXT]},
        ),
        tool("<b>bold", "Plain."),
        tool("huge", HUGE, {f"p{number}": {"type": "string", "description": HUGE[:2_000]} for number in range(300)}),
        tool("fail", annotations={"readOnlyHint": True}),
        tool("write", "Write something."),
    )

    def call(self, name, arguments, params, request_id):
        if name == "huge":
            return {"content": [{"type": "text", "text": HUGE}]}
        if name == "fail":
            return {"content": [{"type": "text", "text": TEXT}], "isError": True}
        return {
            "content": [
                {"type": "text", "text": TEXT},
                {"type": "image", "mimeType": "image/svg+xml", "data": DRAWING},
                {"type": "image", "mimeType": "text/html", "data": base64.b64encode(TEXT.encode()).decode()},
                {"type": "resource_link", "uri": f"javascript:{ACT}", "name": TEXT, "description": TEXT},
                {"type": "resource", "resource": {"uri": "x:1", "mimeType": "text/html", "text": TEXT}},
            ],
            "structuredContent": {TEXT[:60]: TEXT, "link": f"javascript:{ACT}"},
            "isError": False,
        }


if __name__ == "__main__":
    print(TEXT, file=sys.stderr, flush=True)
    if "fail" in sys.argv:
        sys.exit(1)
    Hostile().run()
