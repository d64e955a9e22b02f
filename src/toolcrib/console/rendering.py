"""Pages from templates. What comes from servers, models and people is escaped, its hidden characters made visible."""

import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import jinja2
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from toolcrib import __version__
from toolcrib.console.access import Visitor
from toolcrib.console.forms.reading import choice_text
from toolcrib.console.guard import CSRF_FIELD, VISITOR
from toolcrib.hidden import escape_hidden, find_hidden, visible

_ODD = re.compile("[\u2028\u2029\ud800-\udfff]")
"""What ends a line and does not show it, and halves of surrogate pairs, which have no form in UTF-8."""

LONGEST_TEXT = 20_000
"""Characters of one text that a page shows."""

NAVIGATION = (
    ("overview", "Overview", ""),
    ("servers", "Servers", "servers"),
    ("tools", "Tools", "tools"),
    ("playground", "Search", "search"),
    ("calls", "Calls", "calls"),
    ("runs", "Runs", "runs"),
    ("approvals", "Approvals", "approvals"),
)
"""The pages that every other leads to: name, title, path below the console's own."""


class Renderer:
    """Makes pages of the templates of this package.

    Args:
        sections: The names of the pages that there are.
    """

    def __init__(self, sections: Sequence[str]) -> None:
        self._navigation = [each for each in NAVIGATION if each[0] in sections]

    def page(
        self,
        request: Request,
        template: str,
        values: Mapping[str, Any] | None = None,
        *,
        section: str = "",
        status: int = 200,
    ) -> Response:
        """A page.

        Args:
            request: What it answers.
            template: The template's name, such as `servers.html`.
            values: What it shows, by the names that the template has for them.
            section: The name of the page in the navigation that it belongs to.
            status: The response's status.
        """
        visitor: Visitor | None = request.scope.get(VISITOR)
        root = request.scope.get("root_path", "")
        shown = {
            "root": root,
            "visitor": visitor,
            "csrf": visitor.csrf if visitor else "",
            "csrf_field": CSRF_FIELD,
            "navigation": self._navigation if visitor else (),
            "section": section,
            "version": __version__,
            "zone": zone() if visitor else "",
            "here": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
            "notice": _notice(request, visitor),
            **(values or {}),
        }
        text = environment().get_template(template).render(shown)
        # Half of a surrogate pair, which JSON can carry as \ud83d, has no UTF-8 form.
        return HTMLResponse(text.encode("utf-8", "replace"), status)


def _notice(request: Request, visitor: Visitor | None) -> str:
    """What the form before has led to, where this console has put it into the address: an address that somebody else
    made up tells nothing."""
    notice, seal = (request.query_params.get(name, "") for name in ("notice", "seal"))
    return notice if visitor is not None and hmac.compare_digest(seal.encode(), visitor.seal(notice).encode()) else ""


@lru_cache(1)
def environment() -> jinja2.Environment:
    """The templates of this package: everything is escaped that is not marked as safe, and what a template does not
    get is an error, not a blank."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("toolcrib.console"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(
        plain=plain,
        pretty=pretty,
        marked=marked,
        exact=exact,
        choice=choice_text,
        moment=moment,
        iso=iso,
        ago=ago,
        seconds=in_words,
        number=number,
        share=share,
    )
    return made


def plain(text: object, limit: int = LONGEST_TEXT) -> str:
    """A text as it can be shown: hidden characters visible, and what is beyond the limit left out and said so."""
    shown = _spelled_out(visible(str(text)))
    return shown if len(shown) <= limit else f"{shown[:limit]}… ({len(shown) - limit:,} characters more)"


def pretty(value: object, limit: int = LONGEST_TEXT) -> str:
    """A JSON value, indented; see `plain`."""
    return plain(json.dumps(value, ensure_ascii=False, indent=2, default=str), limit)


def marked(text: object, limit: int = LONGEST_TEXT) -> Markup:
    """As `plain`, with a mark on each hidden character."""
    given = str(text)
    parts: list[Markup] = []
    at = 0
    for each in find_hidden(given[:limit]):
        spelled = f", which spell {each.spelled!r}" if each.spelled else ""
        parts.append(escape(_spelled_out(given[at : each.start])))
        parts.append(
            Markup('<mark title="{}">{}</mark>').format(f"{each.kind} characters{spelled}", visible(each.text))
        )
        at = each.start + len(each.text)
    left = f"… ({len(given) - limit:,} characters more)" if len(given) > limit else ""
    return Markup("").join([*parts, escape(_spelled_out(given[at:limit]) + left)])


def exact(value: object, limit: int | None = None) -> str:
    """A JSON value, indented, with escapes for what is hidden in its texts: up to the limit, JSON of the same value."""
    text = escape_hidden(json.dumps(value, ensure_ascii=False, indent=2))
    text = _ODD.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return text if limit is None or len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} characters more)"


def _spelled_out(text: str) -> str:
    return _ODD.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def iso(seconds: float) -> str:
    """Seconds since 1970 as a moment of UTC that programs read."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


def moment(seconds: float) -> str:
    """Seconds since 1970 as date and time of the machine that this program runs on."""
    try:
        return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.0f}"


def zone() -> str:
    """How the clocks of the machine that this program runs on differ from UTC, such as `UTC+02:00`."""
    shift = datetime.now().astimezone().strftime("%z")
    return f"UTC{shift[:3]}:{shift[3:5]}"


def ago(seconds: float) -> str:
    """How long ago a moment is, in its greatest unit."""
    return f"{in_words(max(0.0, time.time() - seconds))} ago"


def in_words(seconds: float) -> str:
    """A length of time in its greatest unit: `80 ms`, `2.5 s`, `3 min`, `4 h`, `5 d`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    raise AssertionError


def number(value: float) -> str:
    """A number with its thousands apart."""
    return f"{value:,.0f}"


def share(value: float) -> str:
    """A share of one, in per cent."""
    return f"{value * 100:.1f} %"
