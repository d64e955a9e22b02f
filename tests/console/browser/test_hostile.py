"""Whatever servers, models and scripts say is data on every page: it is shown, and does nothing."""

import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from toolcrib.broker import Caller
from toolcrib.errors import ToolcribError

pytestmark = pytest.mark.anyio

SERVER = str(Path(__file__).resolve().parent / "hostile.py")
MOST_BYTES = 400_000
"""What a page may have, whatever it shows."""

MOST_ALIKE = 1
"""Pages looked at whose paths differ in ids alone."""

LINKS = "() => [...document.links].filter((each) => !each.hasAttribute('download')).map((each) => each.href)"

HARM = r"""() => {
  const found = [];
  if (window.owned) found.push("a script ran");
  if (document.querySelector("script:not([src])")) found.push("there is an inline script");
  for (const each of document.querySelectorAll("*")) {
    for (const { name, value } of each.attributes) {
      if (name.startsWith("on") || name === "style" || name === "srcdoc") found.push(`<${each.localName} ${name}>`);
      const isAddress = ["href", "src", "action", "formaction"].includes(name);
      if (isAddress && !/^(\/|#|\?|data:image\/(png|jpeg|gif|webp);)/.test(value)) {
        found.push(`<${each.localName} ${name}="${value.slice(0, 80)}">`);
      }
    }
    if (["iframe", "object", "embed", "base"].includes(each.localName)) found.push(`<${each.localName}>`);
  }
  // What a visitor has typed stands in a field as it was typed.
  const copy = document.documentElement.cloneNode(true);
  for (const each of copy.querySelectorAll("textarea")) each.remove();
  const text = copy.textContent;
  const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;
  const hidden = /[\u200b-\u200f\u2028-\u202e\u2066-\u2069]|\udb40[\udc00-\udc7f]/;
  const raw = text.match(controls) ?? text.match(hidden);
  if (raw) found.push(`U+${raw[0].codePointAt(0).toString(16)} as it is: ${text.substr(raw.index - 20, 40)}`);
  if (text.includes("49917")) found.push("a template was filled in");
  return found;
}"""


def config() -> dict[str, Any]:
    entry = {"command": sys.executable, "args": ["-S", SERVER]}
    failing = {"command": sys.executable, "args": ["-S", SERVER, "fail"]}
    reason = "<script>window.owned=1</script>"
    rules = [{"name": "look first", "tools": ["hostile.write"], "then": "ask", "reason": reason}]
    settings = {"approvals": {"patience": 0.01}, "policy": {"rules": rules}, "http": {"drain_seconds": 0}}
    return {"mcpServers": {"hostile": entry, "failing": failing}, "toolcrib": settings}


async def use(crib: Any, text: str) -> None:
    """Bring hostile text to wherever a page may show some."""
    caller = Caller(conversation=text[:200])
    for name, arguments in (
        ("hostile.say", {"choice": text[:80], "other": text}),
        ("hostile.huge", {"p1": text}),
        ("hostile.fail", {text[:60]: text}),
        ("hostile.write", {"value": text}),
        ("failing.any", {}),
    ):
        with suppress(ToolcribError):
            await crib.call(name, arguments, caller=caller)
    code = f"# {text!r}\nsaid = await hostile.say()\nprint({text!r})\nraise ValueError({text!r})"
    await crib.run_code(code, caller=caller)
    await crib.scripts.save("hostile_one", f"{text!r}\n1", description=text[:200], check=False)
    await crib.refresh()


async def test_no_text_does_anything_on_any_page(open_house: Any, visit: Any, load: Any) -> None:
    text = load("hostile").TEXT
    async with open_house(config()) as house, visit(house, expected=("status of 40",)) as tab:
        await use(house.crib, text)
        seen: dict[str, int] = {}
        words = quote(text, safe="")
        paths = (
            "",
            "tools/hostile.say",
            "tools/hostile.huge",
            f"tools/{words}",
            f"search?q={words}",
            f"calls?text={words}&tool={words}",
        )
        waiting, problems = [f"{house.url}{path}" for path in paths], list[str]()
        while waiting:
            url = waiting.pop(0)
            response = await tab.page.goto(url)
            body = await response.body()
            if response.headers["content-type"].startswith("text/plain"):
                assert response.headers["x-content-type-options"] == "nosniff"
                continue
            found = await tab.page.evaluate(HARM)
            if len(body) > MOST_BYTES:
                found.append(f"{len(body)} bytes")
            problems += [f"{url}: {each}" for each in found]
            for link in await tab.page.evaluate(LINKS):
                target = link.split("#")[0]
                kind = _kind(target)
                if target.startswith(house.url) and seen.get(kind, 0) < MOST_ALIKE:
                    seen[kind] = seen.get(kind, 0) + 1
                    waiting.append(target)
        assert not problems, "\n".join(problems)
        assert seen


def _kind(url: str) -> str:
    """A URL without what tells pages of one kind from each other."""
    parts = urlsplit(url)
    names = re.sub(r"=[^&]*", "", parts.query)
    return re.sub(r"/[^/]*[0-9.%_][^/]*", "/*", parts.path) + f"?{names}"
