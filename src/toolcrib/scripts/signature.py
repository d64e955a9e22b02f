"""The parameters of a saved script of Python: read from the signature of its function `main`, without running it."""

import ast
import inspect
import json
import re
from dataclasses import dataclass
from typing import Any

from toolcrib.catalog import JsonObject
from toolcrib.errors import UsageError

MAIN = "main"
"""The function that is called with a saved script's arguments."""

_PLAIN: dict[str, JsonObject] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "dict": {"type": "object"},
    "Mapping": {"type": "object"},
    "list": {"type": "array"},
    "tuple": {"type": "array"},
    "Sequence": {"type": "array"},
    "Iterable": {"type": "array"},
    "Any": {},
    "object": {},
}
_LISTS = frozenset(("list", "List", "Sequence", "Iterable", "tuple", "Tuple"))
_MAPS = frozenset(("dict", "Dict", "Mapping"))
_DEEPEST = 20
_PARAMETER = re.compile(r"^\s+\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s+(\S.*)$")


@dataclass(frozen=True, slots=True)
class Signature:
    """What a script's text says of how it is called.

    Attributes:
        has_main: Whether it has a function `main`, which is called with the arguments.
        is_async: Whether that has to be awaited.
        parameters: The schema of its arguments.
        returns: The schema of what it returns; None where it says nothing of it.
        names: The names of its parameters.
        needed: Those without a default.
        takes_more: Whether it takes arguments of any other name.
        description: What it says of itself; empty when nothing.
    """

    has_main: bool
    is_async: bool
    parameters: JsonObject
    returns: JsonObject | None
    names: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    takes_more: bool = False
    description: str = ""


def signature_of(code: str, *, with_types: bool = True) -> Signature:
    """How a script of Python is called.

    A script without `main`, or one that calls it by itself, has no parameters and is run as it stands.

    Args:
        code: The script.
        with_types: Whether the schemas are wanted: else types that have none are no mistake.

    Raises:
        UsageError: It can't be read, or the type of a parameter has no schema.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f" (line {error.lineno})" if isinstance(error, SyntaxError) else ""
        raise UsageError(f"The script can't be read{line}: {getattr(error, 'msg', error)}.") from None
    found = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    main = next((node for node in reversed(found) if node.name == MAIN), None)
    if main is None or _is_called(tree):
        said = ast.get_docstring(tree) or (ast.get_docstring(main) if main is not None else None)
        return Signature(False, False, _no_parameters(), None, description=inspect.cleandoc(said or ""))
    return _of_main(tree, main, with_types=with_types)


def _of_main(tree: ast.Module, main: ast.FunctionDef | ast.AsyncFunctionDef, *, with_types: bool) -> Signature:
    given = main.args
    if given.vararg is not None or given.posonlyargs:
        raise UsageError(f"{MAIN} takes arguments by position, and is called by name.", hint="Name each parameter.")
    doc = inspect.cleandoc(ast.get_docstring(main) or ast.get_docstring(tree) or "")
    told = _told(doc)
    types = _Types(tree)
    defaults = [*[None] * (len(given.args) - len(given.defaults)), *given.defaults, *given.kw_defaults]
    properties: JsonObject = {}
    needed: list[str] = []
    for each, default in zip([*given.args, *given.kwonlyargs], defaults, strict=True):
        schema = types.schema(each.annotation, f"{MAIN}'s parameter {each.arg}") if with_types else {}
        if each.arg in told:
            schema = {"description": told[each.arg], **schema}
        if default is None:
            needed.append(each.arg)
        else:
            schema |= _default(default)
        properties[each.arg] = schema
    parameters: JsonObject = {"type": "object", "properties": properties}
    if needed:
        parameters["required"] = needed
    if given.kwarg is None:
        parameters["additionalProperties"] = False
    return Signature(
        True,
        isinstance(main, ast.AsyncFunctionDef),
        parameters,
        types.result(main.returns),
        tuple(properties),
        tuple(needed),
        given.kwarg is not None,
        re.split(r"\n\s*\n|\n(?=Args:)", doc, maxsplit=1)[0],
    )


class _Types:
    """Annotations as schemas, with the classes of `TypedDict` that the script defines."""

    def __init__(self, tree: ast.Module) -> None:
        self._classes: dict[str, ast.ClassDef] = {}
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and {"TypedDict", *self._classes} & set(map(_name, node.bases)):
                self._classes[node.name] = node

    def result(self, annotation: ast.expr | None) -> JsonObject | None:
        """The schema of what is returned; None where there is no annotation, or none that is one of data."""
        try:
            return (self.schema(annotation, "the result") or None) if annotation is not None else None
        except UsageError:
            return None

    def schema(self, annotation: ast.expr | None, what: str, depth: int = 0) -> JsonObject:
        """The schema of an annotation; of none, the one of anything.

        Raises:
            UsageError: There is none.
        """
        if annotation is None:
            return {}
        if depth > _DEEPEST:
            raise _no_schema(annotation, what)
        deeper = depth + 1
        match annotation:
            case ast.Constant(value=None):
                return {"type": "null"}
            case ast.Constant(value=str() as text):
                try:
                    return self.schema(ast.parse(text, mode="eval").body, what, deeper)
                except SyntaxError:
                    raise _no_schema(annotation, what) from None
            case ast.BinOp(op=ast.BitOr()):
                return _either([self.schema(each, what, deeper) for each in (annotation.left, annotation.right)])
            case ast.Subscript():
                return self._made(annotation, what, deeper)
            case ast.Name() | ast.Attribute():
                name = _name(annotation)
                if name in self._classes:
                    return self._object(self._classes[name], what, deeper)
                if name in _PLAIN:
                    return dict(_PLAIN[name])
            case _:
                pass
        raise _no_schema(annotation, what)

    def _made(self, annotation: ast.Subscript, what: str, depth: int) -> JsonObject:
        name = _name(annotation.value)
        inner = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        if name == "Literal":
            return _one_of(annotation, inner, what)
        if name == "Annotated":
            texts = [each.value for each in inner[1:] if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            said: JsonObject = {"description": texts[0]} if texts else {}
            return {**self.schema(inner[0], what, depth), **said}
        if name in ("Optional", "Union"):
            rest = [{"type": "null"}] if name == "Optional" else []
            return _either([*(self.schema(each, what, depth) for each in inner), *rest])
        if name in ("Required", "NotRequired", "ReadOnly"):
            return self.schema(inner[0], what, depth)
        if name in _LISTS:
            if name in ("tuple", "Tuple") and not (len(inner) == 2 and _is_dots(inner[1])):
                raise _no_schema(annotation, what)
            return {"type": "array", "items": self.schema(inner[0], what, depth)}
        if name in _MAPS and len(inner) == 2 and _name(inner[0]) == "str":
            return {"type": "object", "additionalProperties": self.schema(inner[1], what, depth)}
        raise _no_schema(annotation, what)

    def _object(self, node: ast.ClassDef, what: str, depth: int) -> JsonObject:
        total = not any(
            word.arg == "total" and isinstance(word.value, ast.Constant) and word.value.value is False
            for word in node.keywords
        )
        properties: JsonObject = {}
        required: list[str] = []
        for base in node.bases:
            if (inherited := self._classes.get(_name(base))) is not None:
                schema = self._object(inherited, what, depth + 1)
                properties |= schema["properties"]
                required += schema["required"]
        for each in node.body:
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                mark = _name(each.annotation.value) if isinstance(each.annotation, ast.Subscript) else ""
                properties[each.target.id] = self.schema(each.annotation, f"{node.name}.{each.target.id}", depth)
                if mark == "Required" or (total and mark != "NotRequired"):
                    required.append(each.target.id)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _is_called(tree: ast.Module) -> bool:
    """Whether the script itself calls its `main`, outside of functions."""
    outside = (
        node for node in tree.body if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    )
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == MAIN
        for top in outside
        for node in ast.walk(top)
    )


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_dots(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _one_of(annotation: ast.expr, values: list[ast.expr], what: str) -> JsonObject:
    found: list[Any] = []
    for each in values:
        if not isinstance(each, ast.Constant) or not isinstance(each.value, str | int | None):
            raise _no_schema(annotation, what)
        found.append(each.value)
    return {"enum": found}


def _either(schemas: list[JsonObject]) -> JsonObject:
    flat = [each for schema in schemas for each in (schema["anyOf"] if schema.keys() == {"anyOf"} else [schema])]
    return flat[0] if len(flat) == 1 else {"anyOf": flat}


def _default(node: ast.expr) -> JsonObject:
    try:
        value = ast.literal_eval(node)
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return {}  # made anew at each call: nothing that a schema could say
    return {"default": value}


def _told(doc: str) -> dict[str, str]:
    """What the `Args:` of a docstring say of each parameter."""
    _, found, rest = doc.partition("Args:")
    told: dict[str, str] = {}
    for line in rest.splitlines() if found else ():
        if line and not line[0].isspace():
            break
        if match := _PARAMETER.match(line):
            told[match[1]] = match[2]
    return told


def _no_parameters() -> JsonObject:
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _no_schema(annotation: ast.expr, what: str) -> UsageError:
    return UsageError(
        f"The type of {what}, {ast.unparse(annotation)[:200]}, can't be said as a schema.",
        hint="Use str, int, float, bool, list, dict, Literal, unions and TypedDict; or give the parameters' schema.",
    )
