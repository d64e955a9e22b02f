"""Making a validator of a schema: which draft it is, what in it can't be used, how far it may nest."""

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

from toolcrib.errors import ToolcribError
from toolcrib.schema.cost import TooIntricateError, costs, widest
from toolcrib.schema.jsonvalues import JsonObject, NotJsonError, extent, is_array, is_object, nodes, objects, pointer
from toolcrib.schema.problems import MASK
from toolcrib.schema.refs import REFERENCES, in_place, types

if TYPE_CHECKING:
    import jsonschema_rs

MAX_SCHEMA_DEPTH = 128
"""Objects and arrays inside each other in a schema at most (a level of properties takes two)."""
MAX_SCHEMA_SIZE = 50_000
"""Values in a schema at most."""
MOST_PATTERNS = 2_000
"""Patterns in a schema at most: each takes some 20 µs to compile."""
MOST_NAME_PATTERNS = 64
"""Patterns of names (`patternProperties`) at most: each is tried on each member of an object."""
MOST_ANCHORS = 100
"""Anchors in a schema at most: each reference to one is looked for in the whole document."""
MOST_UNEVALUATED = 200
"""Schemas that may apply to one value where `unevaluatedProperties` or `unevaluatedItems` is used: the engine
goes through all of them for each member."""
MOST_LOCAL = 40_000
"""Schemas compiled in all to have an engine for each schema inside a schema (some 0.1 s)."""
BACKTRACKS = 10_000
"""Steps that a pattern with lookaround or back-references may take; others run in linear time."""
FALLBACK_DRAFTS = (
    # before revision 2025-11-25 of MCP there was no default, and generators wrote older drafts unnamed
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-04/schema#",
)
KNOWN_DRAFTS = frozenset(
    f"json-schema.org/{draft}/schema"
    for draft in ("draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12")
)
LOOSENING_TIGHTENS = frozenset({"not", "if", "oneOf", "contains", "dependentSchemas"})
"""Below these, leaving out a constraint may forbid more instead of less."""

_OUTSIDE = re.compile(r"Resource '(.*)' is not present")


class UnusableSchemaError(ToolcribError):
    """A schema can't be used: its tool is called unvalidated, and marked so.

    Args:
        reason: What is wrong with the schema, for a person.
    """

    code = "schema_unusable"

    def __init__(self, reason: str) -> None:
        super().__init__(f"The schema can't be used: {reason}.", hint="Its tool is called without validation.")
        self.reason = reason


def prepare(schema: object) -> JsonObject | bool:
    """The schema as the engine takes it: bounded, references spelled as URIs, drafts known.

    Raises:
        UnusableSchemaError: It is no schema, or too large.
    """
    if isinstance(schema, bool):
        return schema
    if not is_object(schema):
        raise UnusableSchemaError("it is not an object")
    try:
        size = extent(schema, MAX_SCHEMA_DEPTH).size
    except NotJsonError as error:
        raise UnusableSchemaError(f"it {error}") from None
    if size > MAX_SCHEMA_SIZE:
        raise UnusableSchemaError(f"it has more than {MAX_SCHEMA_SIZE:,} parts")
    _limit_patterns_and_anchors(schema)
    crooked = any(_uri(reference) != reference for reference in references(schema))
    prepared = _with_uris(schema) if crooked else schema
    draft = prepared.get("$schema")
    if draft is not None and not _is_known(draft):
        prepared = {key: value for key, value in prepared.items() if key != "$schema"}
    return prepared


def _limit_patterns_and_anchors(schema: JsonObject) -> None:
    names = patterns = anchors = 0
    for node in nodes(schema):
        patterns += isinstance(node.get("pattern"), str)
        anchors += isinstance(node.get("$anchor"), str) or isinstance(node.get("$dynamicAnchor"), str)
        by_name = node.get("patternProperties")
        names += len(by_name) if is_object(by_name) else 0
    if anchors > MOST_ANCHORS:
        raise UnusableSchemaError(f"it has more than {MOST_ANCHORS} anchors")
    if names > MOST_NAME_PATTERNS:
        raise UnusableSchemaError(f"it has more than {MOST_NAME_PATTERNS} patterns of names")
    if patterns > MOST_PATTERNS:
        raise UnusableSchemaError(f"it has more than {MOST_PATTERNS:,} patterns")


def references(schema: JsonObject) -> list[object]:
    """What stands under `$ref` and its kin, anywhere in a document."""
    return [node[name] for node in nodes(schema) for name in REFERENCES if name in node]


def compile_engine(
    schema: JsonObject | bool,
) -> "tuple[jsonschema_rs.Validator, JsonObject | bool, tuple[str, ...]]":
    """Compile a prepared schema.

    Returns:
        The engine, the schema that it was made from, and what of the schema it leaves unchecked.

    Raises:
        UnusableSchemaError: It is invalid, or refers to something outside or missing.
    """
    import jsonschema_rs

    tries: list[JsonObject | bool] = [schema]
    if is_object(schema) and "$schema" not in schema:
        tries += [{"$schema": draft, **schema} for draft in FALLBACK_DRAFTS]
    faults: list[jsonschema_rs.ValidationError] = []
    for attempt in tries:
        try:
            return _engine(attempt), attempt, ()
        except jsonschema_rs.ValidationError as error:
            faults.append(error)
        except ValueError as error:
            raise UnusableSchemaError(f"it can't be read: {error}") from None
    if is_object(schema) and _is_about_a_pattern(faults[0]):
        return _compile_without_patterns(schema)
    raise _invalid(faults[0])


def local_engines(schema: JsonObject | bool) -> "jsonschema_rs.ValidatorMap":
    """An engine for each schema inside a schema that compiles, by JSON Pointer behind `#`.

    Each takes along what is inside it and what that refers to; where this comes to more than `MOST_LOCAL`
    schemas, there is only the engine of the whole.
    """
    import jsonschema_rs

    if is_object(schema) and local_work(schema) > MOST_LOCAL:
        return jsonschema_rs.validator_map_for(True, **_options())
    return jsonschema_rs.validator_map_for(schema, **_options())


def local_work(schema: JsonObject) -> int:
    """About how many schemas are compiled for `local_engines`: for each, those in it and those referred to."""
    found = list(nodes(schema))
    inside: dict[int, int] = {}
    referring: dict[int, bool] = {}
    work = 0
    for node in reversed(found):
        members = [part for value in node.values() for part in (value if is_array(value) else (value,))]
        below = [id(part) for part in members if is_object(part)]
        inside[id(node)] = 1 + sum(inside.get(key, 1) for key in below)
        referring[id(node)] = any(name in node for name in REFERENCES) or any(referring.get(key) for key in below)
        work += len(found) if referring[id(node)] else inside[id(node)]
    return work


def weigh(schema: JsonObject | bool, limit: int, small: int, most: int) -> tuple[int, ...]:
    """For each depth of a value that can be checked, from 0 on, how often one place in it is evaluated at most.

    Only a schema with references can cost more than its size times the value's size: alternatives that
    refer to alternatives double the work at each level.

    Args:
        schema: A prepared schema; it need not be valid.
        limit: The depth that no value may exceed.
        small: Evaluations of one place in a value that need not be known more exactly.
        most: Evaluations of one place in a value at most.

    Raises:
        UnusableSchemaError: Even a flat value may take too long.
    """
    if not is_object(schema) or not references(schema):
        weight = widest(schema) if is_object(schema) else 1
        if weight > MOST_UNEVALUATED and _uses_unevaluated(schema):
            raise UnusableSchemaError("it has too many schemas beside a keyword for what none of them evaluates")
        return (weight,) * (limit + 1)
    try:
        found = costs(schema, limit, small)
    except TooIntricateError as error:
        raise UnusableSchemaError(str(error)) from None
    weights = tuple(takewhile(lambda weight: weight <= most, found))
    if len(weights) < 2:
        raise UnusableSchemaError("its alternatives refer to each other too many times")
    if weights[0] > MOST_UNEVALUATED and _uses_unevaluated(schema):
        raise UnusableSchemaError("it has too many schemas beside a keyword for what none of them evaluates")
    return weights


def _uses_unevaluated(schema: object) -> bool:
    return any("unevaluatedProperties" in node or "unevaluatedItems" in node for node in nodes(schema))


def demand_object(schema: JsonObject) -> None:
    """Raise UnusableSchemaError if a schema takes no object, as arguments always are."""
    for node in in_place(schema, schema, branches=False):
        named = types(node)
        if named and "object" not in named:
            raise UnusableSchemaError(f"it takes {' or '.join(named)}, but arguments are an object")


def _options() -> dict[str, Any]:
    import jsonschema_rs

    return {
        "retriever": _refuse_retrieval,
        "pattern_options": jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS),
        "validate_formats": False,  # an annotation in 2020-12 (7.2.1); servers are laxer than what they declare
        "mask": MASK,
    }


def _engine(schema: JsonObject | bool) -> "jsonschema_rs.Validator":
    import jsonschema_rs

    return jsonschema_rs.validator_for(schema, **_options())


def _refuse_retrieval(uri: str) -> NoReturn:
    raise ValueError("references outside the document are not followed")


def _invalid(error: "jsonschema_rs.ValidationError") -> UnusableSchemaError:
    if error.kind.name == "$ref":
        outside = _OUTSIDE.match(error.message)
        if outside:
            return UnusableSchemaError(f"it refers to {outside[1]}, which is outside of it")
        return UnusableSchemaError(f"it refers to something that is not there: {error.message}")
    where = pointer(error.instance_path)
    message = error.message.replace(MASK, "the value")
    return UnusableSchemaError(f"it is invalid{' at ' if where else ''}{where}: {message}")


def _is_about_a_pattern(error: "jsonschema_rs.ValidationError") -> bool:
    return error.message.endswith('is not a "regex"')


def _compile_without_patterns(
    schema: JsonObject,
) -> "tuple[jsonschema_rs.Validator, JsonObject | bool, tuple[str, ...]]":
    """Compile a schema whose only fault are patterns in a dialect that the engine doesn't know."""
    import jsonschema_rs

    pruned = _copied(schema)
    unchecked: list[str] = []
    for path, node in list(objects(pruned)):
        bad = [name for name in node.get("patternProperties") or () if not _is_pattern(name)]
        if isinstance(node.get("pattern"), str) and not _is_pattern(node["pattern"]):
            del node["pattern"]
            unchecked.append(pointer((*path, "pattern")))
        for name in bad:
            del node["patternProperties"][name]
            unchecked.append(pointer((*path, "patternProperties", name)))
        if bad:
            # which names are additional can't be told any more
            node.pop("additionalProperties", None)
            node.pop("unevaluatedProperties", None)
        if (bad or len(unchecked)) and LOOSENING_TIGHTENS.intersection(map(str, path)):
            raise UnusableSchemaError(f"the pattern at {unchecked[-1]} is in no known dialect")
    try:
        return _engine(pruned), pruned, tuple(unchecked)
    except jsonschema_rs.ValidationError as error:
        raise _invalid(error) from None


def _is_pattern(text: str) -> bool:
    import jsonschema_rs

    try:
        _engine({"pattern": text})
    except jsonschema_rs.ValidationError:
        return False
    return True


def _is_known(draft: object) -> bool:
    return isinstance(draft, str) and draft.rstrip("#").partition("://")[2] in KNOWN_DRAFTS


def _uri(reference: object) -> object:
    """A reference with every character that a URI may not hold percent-encoded."""
    return quote(reference, safe="%!#$&'()*+,/:;=?@~") if isinstance(reference, str) else reference


def _with_uris(node: Any) -> Any:
    if is_array(node):
        return [_with_uris(item) for item in node]
    if not is_object(node):
        return node
    return {key: _uri(item) if key in REFERENCES else _with_uris(item) for key, item in node.items()}


def _copied(node: Any) -> Any:
    if is_array(node):
        return [_copied(item) for item in node]
    return {key: _copied(item) for key, item in node.items()} if is_object(node) else node
