"""What would work instead of what Monty refuses."""

from toolcrib.sandbox.monty.modules import MODULES, NATIVE

_UNSUPPORTED = (
    ("yield", "Build a list and return it instead of using `yield`."),
    ("inheritance", "Use a plain class or a dict; raise ToolError or ValueError instead of an exception of your own."),
    ("decorator", "Use plain methods and functions instead of @property, @staticmethod and @classmethod."),
    ("del", "Use `d.pop(key)`, or set the name to None."),
    ("async with", "Leave `async with` out: calls run side by side with asyncio.gather, and are limited for you."),
    ("async for", "Await the calls one by one in a plain `for`, or all together with asyncio.gather."),
    ("except*", "Use plain `except`."),
    ("type alias", "Leave the `type` statement out."),
)


def hint_for(kind: str, message: str) -> str:
    """What to do about an exception; empty where nobody knows."""
    if kind == "NotImplementedError":
        found = next((hint for word, hint in _UNSUPPORTED if word in message.lower()), "")
        return found or "Say it in simpler Python."
    if kind in ("ModuleNotFoundError", "ImportError"):
        return f"There are: {', '.join(sorted(offered()))}."
    if "coroutine" in message or "external_future" in message:
        return "A call of a tool gives its result only after `await`."
    if kind == "AttributeError" and message.endswith(("'message'", "'tool'", "'data'")) and "Error' object" in message:
        return "Read .message, .tool and .data inside the `except` block that names the error."
    if kind == "MemoryError":
        return "Keep less in memory at once: fetch and reduce page by page."
    if kind == "TimeoutError" and message.startswith("It used up"):
        return "Do less in the script: filter where the data is, or split the work."
    return ""


def offered() -> set[str]:
    """Modules that a script can import."""
    ours = {"urllib.parse" if name == "urllib_parse__" else name for name in MODULES}
    return ours | {name for name in NATIVE if not name.startswith("_")}
