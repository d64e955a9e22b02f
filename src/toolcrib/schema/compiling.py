"""Making a validator of a schema: which draft it is, what in it can't be used, how far it may nest."""

import re
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

from toolcrib.errors import ToolcribError
from toolcrib.schema.cost import TooIntricateError, depth_within
from toolcrib.schema.jsonvalues import JsonObject, NotJsonError, extent, is_array, is_object, objects, pointer
from toolcrib.schema.problems import MASK
from toolcrib.schema.refs import REFERENCES, in_place, types

if TYPE_CHECKING:
    import jsonschema_rs

MAX_SCHEMA_DEPTH = 128
"""Objects and arrays inside each other in a schema at most (a level of properties takes two)."""
MAX_SCHEMA_SIZE = 50_000
"""Values in a schema at most."""
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
    crooked = any(_uri(reference) != reference for reference in references(schema))
    prepared = _with_uris(schema) if crooked else schema
    draft = prepared.get("$schema")
    if draft is not None and not _is_known(draft):
        prepared = {key: value for key, value in prepared.items() if key != "$schema"}
    return prepared


def references(schema: JsonObject) -> list[object]:
    """What stands under `$ref` and its kin, anywhere in a document."""
    return [node[name] for _, node in objects(schema) for name in REFERENCES if name in node]


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
    """An engine for each schema inside a schema that compiles, by JSON Pointer behind `#`."""
    import jsonschema_rs

    return jsonschema_rs.validator_map_for(schema, **_options())


def depths(schema: JsonObject | bool, limit: int, details: int, most: int) -> tuple[int, int]:
    """How deep a value may nest so that errors can be listed, and so that it can be checked at all.

    Only a schema with references can cost more than its size times the value's size: alternatives that
    refer to alternatives double the work at each level.

    Args:
        schema: A prepared schema; it need not be valid.
        limit: The depth that no value may exceed.
        details: Evaluations of one place in a value that listing errors may take.
        most: The same for deciding between valid and invalid.

    Raises:
        UnusableSchemaError: Even a flat value may take too long.
    """
    if not is_object(schema) or not references(schema):
        return limit, limit
    try:
        listed, checked = depth_within(schema, limit, (details, most))
    except TooIntricateError as error:
        raise UnusableSchemaError(str(error)) from None
    if checked < 1:
        raise UnusableSchemaError("its alternatives refer to each other too many times")
    return listed, checked


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
