"""Repairing arguments where the schema leaves no doubt about what was meant.

Only what is invalid is touched, and only in ways that can't change its meaning: `"5"` where an integer
is required, `"true"`, a JSON string where an object or array is required, a single item where an array
is required, the case of an enum's value, null for an optional member, and a parameter spelled as its
identifier (`from_` for `from`). Defaults are never filled in.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from toolcrib.schema.compiling import UnusableSchemaError
from toolcrib.schema.conversion import converted, matching_option, parsed
from toolcrib.schema.ids import parameter_identifiers
from toolcrib.schema.jsonvalues import JsonObject, Path, is_array, is_object, pointer, same, shown
from toolcrib.schema.refs import Place, declared, descend, in_place, walk
from toolcrib.schema.validation import Validator, compile_validator, engine_errors

if TYPE_CHECKING:
    import jsonschema_rs

MOST_COPIED = 200_000
"""Values copied to try alternatives on; beyond, nothing is repaired."""
MOST_STEPS = 1_000
"""Errors looked at and alternatives tried in one repair (some 50 ms); beyond, nothing is repaired."""
MOST_SEARCHED = 50_000
"""Names, options and characters of JSON gone through in one repair, a hundred characters as one."""
MOST_CHANGES = 20
"""Changes told at most; the rest is counted."""
MOST_UNIONS = 8
"""Alternatives inside alternatives that are tried."""


@dataclass(frozen=True, slots=True)
class Coerced:
    """Arguments after repair.

    Attributes:
        value: The arguments: the very object given where nothing was changed, else a copy.
        changes: What was changed, one line each, at most 21; empty when nothing was.
    """

    value: Any
    changes: tuple[str, ...] = ()


def coerce(arguments: object, schema: object) -> Coerced:
    """Repair arguments as far as the schema leaves no doubt; the given object is never changed.

    A value that is valid as it is stays, save for one thing: a top-level parameter that the schema does
    not know, spelled as the identifier of one that it knows and that is missing, is renamed, since stubs
    show identifiers. What can't be repaired is left for `Validator.validate` to name.

    Args:
        arguments: Parsed JSON, normally an object.
        schema: The `Validator` of the schema; or the schema itself, compiled for this one use. Where that
            can't be used, nothing is repaired.
    """
    try:
        validator = schema if isinstance(schema, Validator) else compile_validator(schema)
    except UnusableSchemaError:
        return Coerced(arguments)
    value: Any = arguments
    changes: list[str] = []
    while True:
        renames = _renames(value, validator)
        if renames:
            value = {renames.get(key, key): item for key, item in value.items()}
            changes += _told(renames, ())
        repaired = _repaired(value, validator)
        value = repaired.value
        changes += repaired.changes
        if not (repaired.changes and _renames(value, validator)):
            break
    if not changes or same(value, arguments):
        return Coerced(arguments)
    if len(changes) > MOST_CHANGES:
        changes = [*changes[:MOST_CHANGES], f"… and {len(changes) - MOST_CHANGES} more"]
    return Coerced(value, tuple(changes))


def _repaired(value: object, validator: Validator) -> Coerced:
    if validator.is_valid(value) or not validator.can_list(value):
        return Coerced(value)
    repair = _Repair(validator)
    try:
        repaired = repair.arguments(value)
    except _TooMuchError:
        return Coerced(value)
    return Coerced(repaired, tuple(repair.changes)) if repair.changes else Coerced(value)


def _renames(arguments: object, validator: Validator) -> dict[str, str]:
    """Parameters to rename: those spelled as the identifier of a declared one that is missing."""
    if not is_object(arguments) or arguments.keys() <= validator.declared.keys():
        return {}
    return _identifiers_among(arguments, validator.declared, validator.wire_names)


def _identifiers_among(value: JsonObject, known: Container[str], wires: Mapping[str, str]) -> dict[str, str]:
    return {key: wires[key] for key in value if key in wires and key not in known and wires[key] not in value}


def _told(renames: Mapping[str, str], where: Path) -> list[str]:
    return [f"{pointer((*where, old))}: renamed to {shown(new)}" for old, new in renames.items()]


class _TooMuchError(Exception):
    """More alternatives than can be tried in bounded time."""


class _Repair:
    """One repair: lists errors and mends what they are about, until nothing more can be mended."""

    def __init__(self, validator: Validator) -> None:
        self._validator = validator
        self._root = validator.schema
        self._copied = 0
        self.steps = 0
        self.searched = 0
        self.changes: list[str] = []

    def arguments(self, arguments: object) -> Any:
        """The arguments repaired, as a copy."""
        return self._run(self._copy(arguments), self._validator.engine, ("", self._root), (), MOST_UNIONS)

    def _run(self, value: Any, engine: "jsonschema_rs.Validator", start: Place, base: Path, unions: int) -> Any:
        """Mend a value, a private copy, against the schema at `start`, whose engine is given."""
        mended: set[tuple[Path, Path]] = set()
        scope = _Scope(value, start, base, unions)
        while True:
            scope.touched.clear()
            scope.searched.clear()
            for error in engine_errors(engine, scope.value):
                self._step()
                path, mark = tuple(error.instance_path), tuple(error.evaluation_path)
                if (path, mark) in mended or scope.is_touched(path):
                    continue
                if self._mend(error, path, scope):
                    mended.add((path, mark))
                    scope.touch(path)
            if not scope.touched:
                return scope.value

    def _mend(self, error: "jsonschema_rs.ValidationError", path: Path, scope: "_Scope") -> bool:
        """Mend what one error is about; whether that was possible."""
        from jsonschema_rs import ValidationErrorKind as Kind

        what, value = error.kind, scope.at(path)
        if isinstance(value, str):
            self._search(len(value) // 100)
        place = walk(self._root, error.evaluation_path[:-1], scope.start)
        if isinstance(what, (Kind.Required, Kind.AdditionalProperties, Kind.UnevaluatedProperties)):
            if place is None or (path, place[0]) in scope.searched:
                return False
            scope.searched.add((path, place[0]))
            return self._rename_members(value, place, (*scope.base, *path))
        if value is None:
            return self._drop_null(error, path, scope)
        if isinstance(what, Kind.Type):
            new = converted(value, what.types, self._validator.can_list)
            if not new and "array" in what.types and place:
                new = self._wrapped(value, place[0])
        elif isinstance(what, Kind.Enum):
            self._search(len(what.options))
            new = matching_option(value, what.options)
        elif isinstance(what, Kind.Constant):
            new = matching_option(value, [what.expected_value])
        elif isinstance(what, (Kind.AnyOf, Kind.OneOfNotValid)) and place:
            return self._mend_union(value, what.name, place, path, scope)
        else:
            return False
        if not new:
            return False
        scope.put(path, new[0])
        self._note((*scope.base, *path), value, new[0])
        return True

    def _wrapped(self, value: Any, where: str) -> tuple[Any] | None:
        """A single item as the array that is required, if the item is a valid one."""
        engine = self._validator.local.get(f"#{where}")
        if engine is None:
            return None
        candidates = [value, *(parsed(value, self._validator.can_list) or ())]
        return next((([item],) for item in candidates if engine.is_valid([item])), None)

    def _mend_union(self, value: Any, keyword: str, place: Place, path: Path, scope: "_Scope") -> bool:
        """Mend a value that fits no alternative, if exactly one of them can be made to fit."""
        where, node = place
        whole = self._validator.local.get(f"#{where}")
        forms = node.get(keyword) if is_object(node) else None
        if whole is None or not is_array(forms) or not scope.unions:
            return False
        found: list[tuple[Any, list[str]]] = []
        before = self.changes
        for index, form in enumerate(forms):
            inner = f"{where}/{keyword}/{index}"
            engine = self._validator.local.get(f"#{inner}")
            self._step()
            if engine is None:
                continue
            self.changes = []
            new = self._run(self._copy(value), engine, (inner, form), (*scope.base, *path), scope.unions - 1)
            mended = self.changes and engine.is_valid(new) and not _breaks(whole, new, keyword)
            if mended and not any(same(new, other) for other, _ in found):
                found.append((new, self.changes))
        self.changes = before
        if len(found) != 1:
            return False
        scope.put(path, found[0][0])
        self.changes += found[0][1]
        return True

    def _drop_null(self, error: "jsonschema_rs.ValidationError", path: Path, scope: "_Scope") -> bool:
        """Leave out a member that is null and need not be there."""
        if not path:
            if scope.base or not _wants_object(error):
                return False
            scope.put((), {})
            self._note((), None, {})
            return True
        owner = scope.at(path[:-1])
        if not is_object(owner):
            return False
        steps = error.evaluation_path
        cut = next((at for at in range(len(steps) - 2, -1, -1) if steps[at + 1] == path[-1]), 0)
        place = walk(self._root, steps[:cut], scope.start)
        if place is None or path[-1] in _required(self._root, place[1]):
            return False
        if len(path) == 1 and not scope.base and path[-1] in _required(self._root, self._root):
            return False
        del owner[str(path[-1])]
        self.changes.append(f"{pointer((*scope.base, *path))}: null left out")
        return True

    def _rename_members(self, value: object, place: Place, where: Path) -> bool:
        if not is_object(value):
            return False
        known = declared(self._root, place[1])
        self._search(len(known) + len(value))
        wires = {identifier: name for name, identifier in parameter_identifiers(known).items()}
        renames = _identifiers_among(value, known, wires)
        if renames:
            members = [(renames.get(key, key), item) for key, item in value.items()]
            value.clear()
            value.update(members)
            self.changes += _told(renames, where)
        return bool(renames)

    def _note(self, path: Path, old: object, new: object) -> None:
        self.changes.append(f"{pointer(path) or 'arguments'}: {shown(old)} → {shown(new)}")

    def _step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise _TooMuchError

    def _search(self, count: int) -> None:
        self.searched += count
        if self.searched > MOST_SEARCHED:
            raise _TooMuchError

    def _copy(self, value: Any) -> Any:
        self._copied += 1
        if self._copied > MOST_COPIED:
            raise _TooMuchError
        if is_object(value):
            return {key: self._copy(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._copy(item) for item in cast("list[Any]", value)]
        return value


class _Scope:
    """A value under repair, and which places in it were changed since its errors were listed."""

    def __init__(self, value: Any, start: Place, base: Path, unions: int) -> None:
        self.value = value
        self.start = start
        self.base = base
        self.unions = unions
        self.touched: set[Path] = set()
        self.searched: set[tuple[Path, str]] = set()
        self._above: set[Path] = set()

    def at(self, path: Path) -> Any:
        """The value at a path that an error named."""
        found = descend(self.value, path)
        return found[0] if found else None

    def put(self, path: Path, value: Any) -> None:
        """Put a value in the place of another."""
        if path:
            self.at(path[:-1])[path[-1]] = value
        else:
            self.value = value

    def touch(self, path: Path) -> None:
        """Note that what is at a path was changed."""
        if not self.touched:
            self._above.clear()
        self.touched.add(path)
        self._above.update(path[:length] for length in range(len(path)))

    def is_touched(self, path: Path) -> bool:
        """Whether something on the way to a path, at it or below it was changed."""
        if not self.touched:
            return False
        return path in self._above or any(path[:length] in self.touched for length in range(len(path) + 1))


def _wants_object(error: "jsonschema_rs.ValidationError") -> bool:
    """Whether an error says that an object is required."""
    from jsonschema_rs import ValidationErrorKind as Kind

    return isinstance(error.kind, Kind.Type) and "object" in error.kind.types


def _breaks(engine: "jsonschema_rs.Validator", value: object, keyword: str) -> bool:
    """Whether a value breaks one keyword of the schema of an engine, whatever else it breaks."""
    return not engine.is_valid(value) and any(
        error.evaluation_path == [keyword] for error in engine_errors(engine, value)
    )


def _required(root: object, node: object) -> set[str]:
    names: set[str] = set()
    for schema in in_place(root, node):
        listed = schema.get("required")
        if is_array(listed):
            names.update(name for name in listed if isinstance(name, str))
    return names
