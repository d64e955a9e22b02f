"""The modules that a script can import: Monty's own, and others that are written here in the part of Python it runs.

A module is a function's local names, hung on an object: nothing of it gets in the way of a script's own names.
"""

ANY_STUBS = "from typing import Any\ndef __getattr__(name: str) -> Any: ...\n"
"""What the checker of types knows of the modules that are written here."""

_STATISTICS = """
def mean(data):
    values = list(data)
    if not values:
        raise ValueError("mean requires at least one data point")
    total = sum(values)
    return total // len(values) if isinstance(total, int) and total % len(values) == 0 else total / len(values)
def fmean(data):
    values = list(data)
    return sum(values) / len(values)
def median(data):
    values = sorted(data)
    if not values:
        raise ValueError("no median for empty data")
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2
def median_low(data):
    values = sorted(data)
    return values[(len(values) - 1) // 2]
def median_high(data):
    values = sorted(data)
    return values[len(values) // 2]
def multimode(data):
    counts = collections.Counter(data)
    most = max(counts.values()) if counts else 0
    return [value for value, count in counts.items() if count == most]
def mode(data):
    found = multimode(data)
    if not found:
        raise ValueError("no mode for empty data")
    return found[0]
def pvariance(data):
    values = list(data)
    middle = sum(values) / len(values)
    return sum([(value - middle) ** 2 for value in values]) / len(values)
def variance(data):
    values = list(data)
    if len(values) < 2:
        raise ValueError("variance requires at least two data points")
    return pvariance(values) * len(values) / (len(values) - 1)
def stdev(data):
    return math.sqrt(variance(data))
def pstdev(data):
    return math.sqrt(pvariance(data))
def quantiles(data, n=4):
    values, cuts = sorted(data), []
    for i in range(1, n):
        j, rest = divmod(i * (len(values) + 1), n)
        j = 1 if j < 1 else len(values) - 1 if j > len(values) - 1 else j
        rest = i * (len(values) + 1) - j * n
        cuts.append((values[j - 1] * (n - rest) + values[j] * rest) / n)
    return cuts
"""
_IO = """
class StringIO:
    def __init__(self, text=""):
        self.parts = [text]
        self.at = 0
    def write(self, text):
        self.parts.append(text)
        return len(text)
    def getvalue(self):
        return "".join(self.parts)
    def read(self):
        text = self.getvalue()[self.at:]
        self.at = self.at + len(text)
        return text
    def readlines(self):
        return self.read().splitlines(True)
    def seek(self, at):
        self.at = at
    def close(self):
        pass
    def __iter__(self):
        return iter(self.readlines())
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return False
"""
_STRING = """
ascii_lowercase = "abcdefghijklmnopqrstuvwxyz"
ascii_uppercase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ascii_letters = ascii_lowercase + ascii_uppercase
digits = "0123456789"
hexdigits = "0123456789abcdefABCDEF"
punctuation = "!\\"#$%&'()*+,-./:;<=>?@[\\\\]^_`{|}~"
whitespace = " \\t\\n\\r\\x0b\\x0c"
def capwords(text, sep=None):
    return (sep or " ").join([word.capitalize() for word in text.split(sep)])
"""
_OPERATOR = """
def itemgetter(*keys):
    if len(keys) == 1:
        return lambda value: value[keys[0]]
    return lambda value: tuple([value[key] for key in keys])
def attrgetter(*names):
    if len(names) == 1:
        return lambda value: getattr(value, names[0])
    return lambda value: tuple([getattr(value, name) for name in names])
def add(a, b): return a + b
def sub(a, b): return a - b
def mul(a, b): return a * b
def truediv(a, b): return a / b
def eq(a, b): return a == b
def ne(a, b): return a != b
def lt(a, b): return a < b
def le(a, b): return a <= b
def gt(a, b): return a > b
def ge(a, b): return a >= b
def neg(a): return -a
def not_(a): return not a
def contains(a, b): return b in a
def getitem(a, b): return a[b]
"""
_HEAPQ = """
def heapify(heap):
    heap.sort()
def heappush(heap, item):
    low, high = 0, len(heap)
    while low < high:
        middle = (low + high) // 2
        if item < heap[middle]:
            high = middle
        else:
            low = middle + 1
    heap.insert(low, item)
def heappop(heap):
    return heap.pop(0)
def heappushpop(heap, item):
    heappush(heap, item)
    return heap.pop(0)
def nlargest(n, values, key=None):
    return sorted(values, key=key, reverse=True)[:n]
def nsmallest(n, values, key=None):
    return sorted(values, key=key)[:n]
def merge(*lists, key=None, reverse=False):
    return sorted([item for items in lists for item in items], key=key, reverse=reverse)
"""
_TEXTWRAP = """
def wrap(text, width=70, **others):
    lines, line = [], ""
    for word in text.split():
        while len(word) > width:
            if line:
                lines.append(line)
                line = ""
            lines.append(word[:width])
            word = word[width:]
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = line + " " + word if line else word
    return lines + [line] if line else lines
def fill(text, width=70, **others):
    return "\\n".join(wrap(text, width))
def shorten(text, width, placeholder=" [...]"):
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    kept = ""
    for word in text.split():
        longer = kept + " " + word if kept else word
        if len(longer) + len(placeholder) > width:
            break
        kept = longer
    return kept + placeholder if kept else placeholder.strip()
def dedent(text):
    lines = text.split("\\n")
    widths = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    width = min(widths) if widths else 0
    return "\\n".join([line[width:] if line.strip() else "" for line in lines])
def indent(text, prefix):
    return "".join([prefix + line if line.strip() else line for line in text.splitlines(True)])
"""
_UUID = """
class UUID:
    def __init__(self, text):
        self.hex = text.replace("-", "").lower()
    def __str__(self):
        h = self.hex
        return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
    def __repr__(self):
        return "UUID('" + str(self) + "')"
    def __eq__(self, other):
        return str(self) == str(other)
def uuid4():
    digits = [random.choice("0123456789abcdef") for place in range(32)]
    digits[12] = "4"
    digits[16] = random.choice("89ab")
    return UUID("".join(digits))
"""
_URLLIB_PARSE = """
SAFE__ = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~"
def quote(text, safe="/"):
    return "".join([char if char in SAFE__ or char in safe else
                    "".join(["%" + "0123456789ABCDEF"[byte // 16] + "0123456789ABCDEF"[byte % 16]
                             for byte in char.encode()]) for char in str(text)])
def quote_plus(text, safe=""):
    return quote(text, safe + " ").replace(" ", "+")
def unquote(text):
    data, at = [], 0
    raw = text.encode()
    while at < len(raw):
        if raw[at] == 37 and at + 2 < len(raw):
            try:
                data.append(int(raw[at + 1:at + 3].decode(), 16))
                at = at + 3
                continue
            except ValueError:
                pass
        data.append(raw[at])
        at = at + 1
    return bytes(data).decode()
def unquote_plus(text):
    return unquote(text.replace("+", " "))
def urlencode(query, doseq=False):
    pairs = list(query.items()) if isinstance(query, dict) else list(query)
    flat = []
    for name, value in pairs:
        for item in (value if doseq and isinstance(value, (list, tuple)) else [value]):
            flat.append(quote_plus(name) + "=" + quote_plus(item))
    return "&".join(flat)
def parse_qsl(text):
    return [(unquote_plus(part.partition("=")[0]), unquote_plus(part.partition("=")[2]))
            for part in text.split("&") if part.partition("=")[2]]
def parse_qs(text):
    found = {}
    for name, value in parse_qsl(text):
        found.setdefault(name, []).append(value)
    return found
class Parsed__:
    def __init__(self, scheme, netloc, path, query, fragment):
        self.scheme, self.netloc, self.path, self.query, self.fragment = scheme, netloc, path, query, fragment
        host = netloc.rpartition("@")[2]
        name, colon, port = host.partition(":")
        self.hostname = name.lower() or None
        self.port = int(port) if port else None
def urlparse(text):
    text, hash_sign, fragment = text.partition("#")
    text, mark, query = text.partition("?")
    scheme, colon, rest = text.partition(":")
    if not colon or "/" in scheme:
        scheme, rest = "", text
    netloc = ""
    if rest[:2] == "//":
        netloc, slash, path = rest[2:].partition("/")
        rest = slash + path
    return Parsed__(scheme.lower(), netloc, rest, query, fragment)
urlsplit = urlparse
def urljoin(base, text):
    if "://" in text:
        return text
    parsed = urlparse(base)
    head = parsed.scheme + "://" + parsed.netloc
    if text[:1] == "/":
        return head + text
    return head + parsed.path.rpartition("/")[0] + "/" + text
"""
_HTML = """
def escape(text, quote=True):
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&#x27;") if quote else text
def unescape(text):
    for code, char in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#x27;", "'"), ("&#39;", "'"),
                       ("&nbsp;", "\\xa0"), ("&amp;", "&")]:
        text = text.replace(code, char)
    return text
"""
_CONTEXTLIB = """
class suppress:
    def __init__(self, *kinds):
        self.kinds = kinds
    def __enter__(self):
        return None
    def __exit__(self, kind, error, trace):
        return error is not None and isinstance(error, self.kinds)
class nullcontext:
    def __init__(self, value=None):
        self.value = value
    def __enter__(self):
        return self.value
    def __exit__(self, *error):
        return False
"""
_PPRINT = """
def pformat(value, **others):
    return json.dumps(plain__(value, str), indent=2)
def pprint(value, **others):
    print(pformat(value))
"""

MODULES = {
    "statistics": _STATISTICS,
    "io": _IO,
    "string": _STRING,
    "operator": _OPERATOR,
    "heapq": _HEAPQ,
    "textwrap": _TEXTWRAP,
    "uuid": _UUID,
    "urllib_parse__": _URLLIB_PARSE,
    "html": _HTML,
    "contextlib": _CONTEXTLIB,
    "pprint": _PPRINT,
}
"""Modules that Monty lacks. The rewrite knows `urllib.parse` by a name without a dot."""


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


NATIVE = words(
    "asyncio base64 binascii bisect collections copy csv dataclasses datetime decimal functools hashlib itertools "
    "json math os pathlib random re sys time tomllib typing unicodedata __future__"
)
"""Modules that Monty has."""

TYPING = words(
    "Any Literal Optional Union Callable Iterable Iterator List Dict Set Tuple Sequence Mapping Final Annotated "
    "TypeVar Generic Protocol TYPE_CHECKING Self Type NoReturn ClassVar"
)
"""Names that Monty's `typing` has; nothing of them is looked at when a script runs."""

ASYNCIO = frozenset({"gather", "run", "sleep"})
"""Functions that Monty's `asyncio` has."""


def module_source(name: str) -> str:
    """The feed that makes a module and returns it. What it defines is kept apart from the script's names."""
    if name == "urllib__":
        return f"{module_source('urllib_parse__')}\nurllib__ = Module__()\nurllib__.parse = urllib_parse____\nurllib__"
    lines = ["def make__():"]
    lines += [f"    {line}" for line in MODULES[name].strip("\n").splitlines()]
    lines += ["    made = Module__()"]
    lines += [f"    made.{each} = {each}" for each in defined(MODULES[name])]
    lines += ["    return made", f"{name}__ = make__()", f"{name}__"]
    return "\n".join(lines)


def defined(source: str) -> list[str]:
    """The public names that a module's source defines at its top."""
    names: list[str] = []
    for line in source.splitlines():
        head, _, rest = line.partition(" ")
        if head in ("def", "class"):
            names.append(rest.partition("(")[0].partition(":")[0])
        elif head.isidentifier() and rest.startswith("= "):
            names.append(head)
    return [name for name in names if not name.endswith("__")]
