"""Validating arguments against a tool's schema: `ValidationResult`, `Validator`, and their cache."""

import json
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, cast

from toolcrib.schema.compiling import (
    MAX_SCHEMA_DEPTH,
    UnusableSchemaError,
    compile_engine,
    demand_object,
    local_engines,
    prepare,
    weigh,
)
from toolcrib.schema.ids import parameter_identifiers
from toolcrib.schema.jsonvalues import Extent, JsonObject, NotJsonError, extent, is_object, objects, pointer
from toolcrib.schema.problems import Problem, describe, told
from toolcrib.schema.refs import declared, descend

if TYPE_CHECKING:
    import jsonschema_rs

MAX_VALUE_DEPTH = 64
"""Objects and arrays inside each other in a value at most."""
MOST_EVALUATIONS = 500_000
"""Evaluations of one place in a value that deciding about it may take (some 10 ms)."""
MOST_LISTED = 5_000
"""The same for listing errors, which costs a thousand times more for each."""
MOST_VALUES = 10_000
"""Values inside a value whose errors are all listed; of a larger one, only the first items are looked at."""
MOST_IN_ALL = 15_000
"""Evaluations of all values inside a value that listing errors may take (some 50 ms); beyond, as above."""
MOST_CHECKED = 20_000_000
"""The same for deciding between valid and invalid; a value that may take more is refused."""
FIRST_ITEMS = 20
ABOUT_LENGTH = frozenset({"minItems", "contains", "minContains", "oneOf", "anyOf", "not"})
"""Keywords that a shortened array may break although the whole doesn't."""
CACHE_SIZE = 512
"""Compiled schemas that a cache keeps."""


@dataclass(frozen=True, slots=True, repr=False)
class ValidationResult:
    """Whether a value fits a schema, and if not, why.

    Attributes:
        error: All problems in words, one on a line, each with its path; None when valid.
        errors: The problems one by one.
    """

    error: str | None = None
    errors: tuple[Problem, ...] = ()

    @classmethod
    def valid(cls) -> Self:
        """The result for a value that fits."""
        return cls()

    @classmethod
    def invalid(cls, error: str, errors: Sequence[Problem] = ()) -> Self:
        """The result for a value that doesn't fit; without `errors`, the error is one about the whole."""
        return cls(error, tuple(errors) or (Problem("", error, ""),))

    @property
    def is_valid(self) -> bool:
        """Whether the value fits."""
        return self.error is None

    def __repr__(self) -> str:
        return "ValidationResult(valid)" if self.error is None else f"ValidationResult(invalid: {self.error!r})"


VALID = ValidationResult.valid()


class Validator:
    """Checks values against one schema, as often as wanted. `compile_validator` makes it.

    Attributes:
        schema: The schema as given.
        engine: What `jsonschema_rs` made of it.
        unchecked: JSON Pointers of constraints in it that are not checked: patterns in a dialect that
            the engine doesn't know.
    """

    def __init__(self, schema: JsonObject | bool, *, any_root: bool = False) -> None:
        prepared = prepare(schema)
        self.schema = schema
        self._weights = weigh(prepared, MAX_VALUE_DEPTH, MOST_LISTED, MOST_EVALUATIONS)
        self._max_depth = len(self._weights) - 1
        self.engine, self._compiled_schema, self.unchecked = compile_engine(prepared)
        if schema is False:
            raise UnusableSchemaError("it is `false`, which nothing fits")
        if is_object(schema) and not any_root:
            demand_object(schema)

    def validate(self, value: object) -> ValidationResult:
        """Check a value and name every problem in it.

        Args:
            value: Parsed JSON. What can't be JSON, or is nested deeper than 64, is a problem too.
        """
        try:
            size = self._extent(value)
        except NotJsonError as error:
            return ValidationResult.invalid(f"The value {error}.")
        if self.engine.is_valid(value):
            return VALID
        if not self._is_listable(size):
            return self._beginning(value)
        problems = describe(self.errors(value), self.schema, value)
        return ValidationResult.invalid(told(problems), problems) if problems else VALID

    def is_valid(self, value: object) -> bool:
        """Whether a value fits, as `validate` says, but without naming problems."""
        try:
            size = self._extent(value)
        except NotJsonError:
            return False
        return self.engine.is_valid(value) or (self._is_listable(size) and not self.errors(value))

    def errors(self, value: object) -> "list[jsonschema_rs.ValidationError]":
        """The engine's errors about a value, without those about its own limits."""
        return engine_errors(self.engine, value)

    def can_list(self, value: object) -> bool:
        """Whether the errors of a value can be listed in bounded time."""
        try:
            return self._is_listable(extent(value, self._max_depth))
        except NotJsonError:
            return False

    def _extent(self, value: object) -> Extent:
        size = extent(value, self._max_depth)
        if size.size * self._weights[size.depth] > MOST_CHECKED:
            raise NotJsonError("is too large to be checked against as many alternatives as there are")
        return size

    def _is_listable(self, size: Extent) -> bool:
        weight = self._weights[size.depth]
        return weight <= MOST_LISTED and size.size <= MOST_VALUES and size.size * weight <= MOST_IN_ALL

    def _beginning(self, value: object) -> ValidationResult:
        """The problems in the first items of each array of a large value, so far as there are any."""
        short = _shortened(value)
        problems: tuple[Problem, ...] = ()
        if self.can_list(short):
            found = [error for error in self.errors(short) if not _is_about_length(error, short)]
            problems = describe(found, self.schema, short)
        error = told(problems) or "The value does not fit the schema; it is too large to say where."
        return ValidationResult.invalid(error, problems)

    @cached_property
    def local(self) -> "jsonschema_rs.ValidatorMap":
        """Engines for the schemas inside this one, by JSON Pointer behind `#`."""
        return local_engines(self._compiled_schema)

    def engine_for(self, schema: JsonObject) -> "jsonschema_rs.Validator | None":
        """The engine for a schema inside this one, given as the very object; None where there is none."""
        return self.local.get(self._places.get(id(schema), ""))

    @cached_property
    def _places(self) -> dict[int, str]:
        return {id(node): f"#{pointer(path)}" for path, node in objects(self.schema)}

    @cached_property
    def wire_names(self) -> dict[str, str]:
        """The parameters whose identifier is not their name on the wire: name by identifier."""
        identifiers = parameter_identifiers(self.declared)
        return {identifier: name for name, identifier in identifiers.items() if identifier != name}

    @cached_property
    def declared(self) -> dict[str, Any]:
        """The parameters that the schema names, with their schemas."""
        return declared(self.schema, self.schema)


def engine_errors(engine: "jsonschema_rs.Validator", value: object) -> "list[jsonschema_rs.ValidationError]":
    """An engine's errors about a value, without those about its own limits."""
    from jsonschema_rs import ValidationErrorKind as Kind

    limits = (Kind.BacktrackLimitExceeded, Kind.RegexEngineFailure)
    return [error for error in engine.iter_errors(value) if not isinstance(error.kind, limits)]


def compile_validator(schema: object, *, any_root: bool = False) -> Validator:
    """A validator of a schema.

    JSON Schema 2020-12 unless `$schema` names another draft; an unnamed schema that only an older
    draft allows is taken for that. References are followed inside the document only, never over a
    network. `format` is an annotation (2020-12 validation, 7.2.1). Patterns run in linear time, or with
    bounded backtracking.

    Args:
        schema: The schema as a server sent it, whatever it is. `true` allows everything.
        any_root: Whether it may describe something other than an object, as an `outputSchema` may.

    Raises:
        UnusableSchemaError: It is invalid, refers to something outside or missing, takes no object,
            nests too deep, or could make a validation take too long.
    """
    if not isinstance(schema, bool) and not is_object(schema):
        raise UnusableSchemaError("it is not an object")
    return Validator(schema, any_root=any_root)


class ValidatorCache:
    """Keeps the validators of the schemas used last, and which schemas can't be used.

    Args:
        size: How many to keep.
    """

    def __init__(self, size: int = CACHE_SIZE) -> None:
        self._size = size
        self._kept: OrderedDict[Hashable, Validator | str] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, schema: object, key: Hashable | None = None) -> Validator:
        """The validator of a schema of arguments, compiled at its first use.

        Args:
            schema: The schema.
            key: Names this very schema, so that it need not be serialised to be found: an id together
                with the version of the definition. None takes the schema's canonical JSON.

        Raises:
            UnusableSchemaError: As `compile_validator`, also when found in the cache.
        """
        if key is None:
            key = _canonical(schema)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
        if found is None:
            try:
                found = compile_validator(schema)
            except UnusableSchemaError as error:
                found = error.reason
            with self._lock:
                self._kept[key] = found
                while len(self._kept) > self._size:
                    self._kept.popitem(last=False)
        if isinstance(found, str):
            raise UnusableSchemaError(found)
        return found


def _canonical(value: object) -> bytes:
    """JSON with sorted keys and no blanks: the same for equal JSON values."""
    try:
        extent(value, MAX_SCHEMA_DEPTH)
    except NotJsonError as error:
        raise UnusableSchemaError(f"it {error}") from None
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def _is_about_length(error: "jsonschema_rs.ValidationError", value: object) -> bool:
    """Whether an error may be due to an array's being shortened."""
    found = descend(value, error.instance_path)
    return error.kind.name in ABOUT_LENGTH and found is not None and isinstance(found[0], (dict, list))


def _shortened(value: Any) -> Any:
    """A copy with the first items of each array."""
    if is_object(value):
        return {key: _shortened(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shortened(item) for item in cast("list[Any]", value)[:FIRST_ITEMS]]
    return value
