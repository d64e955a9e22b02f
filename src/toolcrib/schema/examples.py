"""`example_call`: a small set of arguments that a tool accepts."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from toolcrib.schema.compiling import UnusableSchemaError
from toolcrib.schema.jsonvalues import JsonObject, is_array, is_number, is_object
from toolcrib.schema.refs import in_place, resolve, types
from toolcrib.schema.validation import Validator, compile_validator

MOST_DEPTH = 32
"""Schemas inside schemas that are followed."""
MOST_BUILT = 2_000
"""Values built in all before giving up."""
MOST_CHECKS = 1_000
"""Values checked in all before the next best is taken unchecked."""
MOST_SEEN = 200_000
"""Members of schemas gone through in all before giving up."""
MOST_TRIES = 24
"""Alternatives of the whole that are tried before giving up."""
PLACEHOLDER = "…"
"""Stands for a string of which nothing is known."""

FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "user@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "regex": "a+",
    "json-pointer": "/a",
    "byte": "YQ==",
    "binary": "YQ==",
    "decimal": "1.5",
    "cidrv4": "192.0.2.0/24",
}
SAMPLES = (
    # what patterns ask for most often in published schemas, shortest first
    *("a", "A", "1", "aa", "abc", "123", "1:2", "a=b", "a:b", "a,b", "=1", "12:30", "10px", "45deg", "2026-01"),
    *("#336699", "a/b", "/a", "a.json", "a.png", "a.svg", "1.0.0", "v1.0.0", "ABC-1", "US", "USD", "en-US"),
    *FORMATS.values(),
    *("1-123e4567-e89b-42d3-a456-426614174000", "2026-01-31 12:00:00", "123456789012", "0" * 24, "a" * 32),
    *("@example", "arn:aws:iam::123456789012:role/a", "s3://a/b", "@a/b", "GET", "today"),
)


def example_call(schema: object) -> JsonObject:
    """Small arguments that fit a schema: its required parameters, with examples where it gives some.

    Values come from `examples`, `default`, `enum` and `const` where they fit, else from type and format.

    Args:
        schema: The schema of the arguments, whatever it is.

    Returns:
        Arguments that the schema accepts, whenever such can be built; else the nearest that could.
    """
    try:
        validator = compile_validator(schema)
    except UnusableSchemaError:
        validator = None
    builder = _Builder(schema, validator)
    nearest: JsonObject | None = None
    for attempt in islice(builder.values(schema, 0), MOST_TRIES):
        if not is_object(attempt):
            continue
        if validator is None or validator.is_valid(attempt):
            return attempt
        nearest = attempt if nearest is None else nearest
    return nearest or {}


class _Builder:
    """Builds values for the schemas of one document."""

    def __init__(self, root: object, validator: Validator | None) -> None:
        self._root = root
        self._validator = validator
        self._open: list[int] = []
        self.built = 0
        self.checks = 0
        self.seen = 0

    def values(self, schema: object, depth: int) -> Iterator[Any]:
        """Values that a schema may accept, the likeliest first."""
        if not is_object(schema):
            yield PLACEHOLDER
            return
        self.built += 1
        if depth > MOST_DEPTH or self.built > MOST_BUILT or self.seen > MOST_SEEN or self._open.count(id(schema)) > 1:
            return
        self._open.append(id(schema))
        try:
            yield from self._given(schema, top=depth == 0)
            yield from self._made(schema, depth)
        finally:
            self._open.pop()

    def _given(self, schema: JsonObject, *, top: bool) -> Iterator[Any]:
        """Values that the schema itself mentions."""
        for part in in_place(self._root, schema, branches=False):
            if "const" in part:
                yield part["const"]
            examples = part.get("examples")
            yield from examples[:3] if is_array(examples) else ()
            if "example" in part:
                yield part["example"]
            if part.get("default") is not None and not top:
                yield part["default"]
            options = part.get("enum")
            yield from options[:3] if is_array(options) else ()

    def _made(self, schema: JsonObject, depth: int) -> Iterator[Any]:
        """Values made from type, format and bounds, for each alternative."""
        forms = next((schema[name] for name in ("anyOf", "oneOf") if is_array(schema.get(name))), [None])
        merged = self._merged(schema)
        for form in forms:
            whole = merged if form is None else _joined(merged, self._merged(form))
            place = resolve(self._root, form.get("$ref")) if is_object(form) else None
            if form is not None and not types(merged) and "properties" not in merged:
                yield from self.values(place[1] if place else form, depth + 1)
            else:
                yield from self._of_kind(whole, depth)
        place = resolve(self._root, schema.get("$ref"))
        if place and forms == [None]:
            yield from self.values(place[1], depth + 1)

    def _of_kind(self, schema: JsonObject, depth: int) -> Iterator[Any]:
        named = types(schema)
        if not named and (depth == 0 or "properties" in schema or "required" in schema):
            named = ("object",)
        elif not named:
            named = ("array",) if "items" in schema else ("string",)
        for kind in sorted(named, key=lambda kind: kind == "null"):
            if kind == "object":
                yield from self._objects(schema, depth)
            elif kind == "array":
                yield from self._arrays(schema, depth)
            elif kind == "string":
                yield from _strings(schema)
            elif kind in ("integer", "number"):
                yield from _numbers(schema)
            elif kind == "boolean":
                yield from (True, False)
            else:
                yield None

    def _objects(self, schema: JsonObject, depth: int) -> Iterator[JsonObject]:
        properties = schema.get("properties")
        known: JsonObject = properties if is_object(properties) else {}
        listed = schema.get("required")
        required = [name for name in listed if isinstance(name, str)] if is_array(listed) else []
        built: JsonObject = {}
        for name in required:
            fitting = self._fitting(known.get(name, True), depth + 1)
            built[name] = fitting
        yield built
        for name in known:
            if name not in built:
                yield {**built, name: self._fitting(known[name], depth + 1)}

    def _arrays(self, schema: JsonObject, depth: int) -> Iterator[list[Any]]:
        least = schema.get("minItems")
        count = least if is_number(least) and 0 < least <= 20 else 0
        items = schema.get("prefixItems", schema.get("items", True))
        if is_array(items):
            yield [self._fitting(item, depth + 1) for item in items]
        elif count or depth < 4:
            wanted = max(int(count), 1)
            if schema.get("uniqueItems"):
                yield list(islice(_distinct(self.values(items, depth + 1)), wanted))
            yield [self._fitting(items, depth + 1)] * wanted
        if not count:
            yield []

    def _fitting(self, schema: object, depth: int) -> Any:
        """The first value for a schema that it accepts, as far as can be told; else the first at all."""
        first: tuple[Any] | None = None
        for value in islice(self.values(schema, depth), MOST_TRIES + len(SAMPLES)):
            if self._accepts(schema, value):
                return value
            first = first or (value,)
        return first[0] if first else PLACEHOLDER

    def _accepts(self, schema: object, value: object) -> bool:
        if self._validator is None or not is_object(schema):
            return True
        self.checks += 1
        if self.checks > MOST_CHECKS:
            return True
        engine = self._validator.engine_for(schema)
        return engine is None or engine.is_valid(value)

    def _merged(self, schema: object) -> JsonObject:
        """A schema together with what it refers to and its `allOf`, as one."""
        merged: JsonObject = {}
        for part in in_place(self._root, schema, branches=False):
            merged = _joined(merged, part)
            self.seen += _size(part.get("properties")) + _size(part.get("required")) + 1
        return merged


def _size(value: object) -> int:
    """How many members a value has; `required: true`, as of draft 3, has none."""
    return len(value) if is_object(value) or is_array(value) else 0


def _joined(left: JsonObject, right: JsonObject) -> JsonObject:
    joined = {**right, **left}
    if is_object(left.get("properties")) and is_object(right.get("properties")):
        joined["properties"] = {**right["properties"], **left["properties"]}
    if is_array(left.get("required")) and is_array(right.get("required")):
        joined["required"] = list(dict.fromkeys([*left["required"], *right["required"]]))
    return joined


def _strings(schema: JsonObject) -> Iterator[str]:
    named = schema.get("format")
    if isinstance(named, str) and named in FORMATS:
        yield FORMATS[named]
    least = schema.get("minLength")
    length = int(least) if is_number(least) and 0 < least <= 1000 else 1
    if "pattern" not in schema:
        if 1 < length < 4:
            yield "text"  # a whole word, where nothing keeps it shorter
        yield (
            PLACEHOLDER if length == 1 else ("text " * length)[:length].replace(" ", "-").rstrip("-").ljust(length, "t")
        )
        return
    for sample in SAMPLES:
        yield sample
        if len(sample) == 1 and length > 1:
            yield sample * length


def _numbers(schema: JsonObject) -> Iterator[int | float]:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    step = schema.get("multipleOf")
    yield from (1, 0)
    for bound, shift in ((low, 0), (above, 1), (high, 0), (below, -1)):
        if is_number(bound):
            yield bound + shift
            yield bound + shift / 2
    if is_number(step):
        yield step
        yield from (step * 2, step * 10)
    yield from (10, 100, -1, 0.5)


def _distinct(values: Iterator[Any]) -> Iterator[Any]:
    seen: list[Any] = []
    for value in values:
        if value not in seen:
            seen.append(value)
            yield value
