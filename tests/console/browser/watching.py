"""A tab of the browser, watched: what its console says, what it asks for elsewhere, whether it can be read by all."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, ConsoleMessage, Page, Request, Response

WIDE, NARROW = 1280, 390
"""Widths of windows, in pixels: of a desk's screen and of a phone's."""

HEIGHTS = {WIDE: 860, NARROW: 844}

FITTING = (Path(__file__).parent / "fitting.js").read_text(encoding="utf-8")
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
AXE_RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
"""The rules of WCAG 2.2 up to AA that can be checked by a program, and axe's own advice."""

_RULES = {
    (WIDE, "light"): AXE_RULES,
    (WIDE, "dark"): {"runOnly": {"type": "rule", "values": ["color-contrast"]}},
    (NARROW, "light"): {"runOnly": {"type": "rule", "values": ["scrollable-region-focusable", "target-size"]}},
}
"""What axe looks for where: themes differ in colours alone, and widths in where things are."""

_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} forbids ${event.blockedURI || "inline"} ${event.sourceFile}`));
"""


@dataclass
class Watch:
    """What went wrong in the pages of a context.

    Attributes:
        origin: The only server that pages may ask for anything.
        expected: Parts of what the browser's console may say.
        troubles: What nobody expected.
    """

    origin: str
    expected: Sequence[str] = ()
    troubles: list[str] = field(default_factory=list[str])

    async def over(self, context: "BrowserContext") -> None:
        """Watch a context from now on."""
        await context.add_init_script(_VIOLATIONS)
        context.on("console", self._said)
        context.on("weberror", lambda error: self.troubles.append(f"error: {error.error}"))
        context.on("request", self._asked)
        context.on("dialog", lambda dialog: self.troubles.append(f"dialog: {dialog.message}"))

    def _said(self, message: "ConsoleMessage") -> None:
        if message.type in {"error", "warning"} and not any(each in message.text for each in self.expected):
            self.troubles.append(f"{message.type}: {message.text} ({message.location.get('url')})")

    def _asked(self, request: "Request") -> None:
        url = urlsplit(request.url)
        if url.scheme != "data" and f"{url.scheme}://{url.netloc}" != self.origin:
            self.troubles.append(f"request: {request.method} {request.url}")

    def check(self) -> None:
        """Fail if anything went wrong."""
        assert not self.troubles, "\n".join(self.troubles)


class Tab:
    """A page of the browser.

    Args:
        page: The page.
        watch: What watches it.
        base: The URL that paths are below.
        pictures: Where pictures are written.
        keeps_pictures: Whether somebody wants to look at a picture of each page.
    """

    def __init__(self, page: "Page", watch: Watch, base: str, pictures: Path, *, keeps_pictures: bool) -> None:
        self.keeps_pictures = keeps_pictures
        self.page = page
        self.watch = watch
        self._base = base
        self._pictures = pictures

    async def open(self, path: str = "", *, status: int = 200) -> "Response":
        """Go to a page, which must answer with a status."""
        response = await self.page.goto(self._base + path, wait_until="load")
        assert response is not None
        assert response.status == status, await response.text()
        return response

    async def resize(self, width: int) -> None:
        """Make the window as wide as a screen is."""
        await self.page.set_viewport_size({"width": width, "height": HEIGHTS[width]})

    async def theme(self, scheme: Any) -> None:
        """Change between `light` and `dark`, as the visitor's system does."""
        await self.page.emulate_media(color_scheme=scheme)

    async def unfit(self) -> list[str]:
        """What can't be read as it is laid out."""
        return await self.page.evaluate(FITTING)

    async def inaccessible(self, rules: dict[str, Any] = AXE_RULES) -> list[str]:
        """What axe finds, one line each."""
        if not await self.page.evaluate("() => 'axe' in window"):
            await self.page.evaluate(AXE)
        found = await self.page.evaluate(
            "(rules) => axe.run(document, { ...rules, resultTypes: ['violations'] })", rules
        )
        return [
            f"{rule['id']} ({rule['impact']}): {rule['help']}: {node['html'][:200]} {node['failureSummary']}"
            for rule in found["violations"]
            for node in rule["nodes"][:3]
        ]

    async def check(self, name: str = "") -> None:
        """Fail unless the page is readable in both widths and both themes; keep pictures, if it has a name."""
        problems: list[str] = []
        for width in (WIDE, NARROW):
            await self.resize(width)
            problems += [f"at {width}: {each}" for each in await self.unfit()]
            for scheme in ("light", "dark"):
                await self.theme(scheme)
                if (rules := _RULES.get((width, scheme))) is not None:
                    problems += [f"at {width}, {scheme}: {each}" for each in await self.inaccessible(rules)]
                if name and self.keeps_pictures:
                    await self.picture(f"{name}-{width}-{scheme}", whole=True)
        await self.theme("light")
        await self.resize(WIDE)
        assert not problems, f"{self.page.url}:\n" + "\n".join(problems)

    async def picture(self, name: str, *, whole: bool = False, part: str = "") -> Path:
        """Keep a picture of the window, of the whole page, or of a part of it."""
        path = self._pictures / f"{name}.png"
        options: dict[str, Any] = {"path": path, "animations": "disabled", "caret": "hide", "scale": "css"}
        if part:
            await self.page.locator(part).screenshot(**options)
        else:
            await self.page.screenshot(full_page=whole, **options)
        return path


async def closed(context: "BrowserContext") -> None:
    """Close a context, whatever its pages are doing."""
    with suppress(Exception):
        await context.close()
