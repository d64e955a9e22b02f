"""`extract(value, shape)` in a script of Python: shapes written as types are told to the small model as JSON Schemas.

A sandbox hands out JSON alone, and Monty has no classes that inherit. So a shape that the text of the script tells is
put in its place before the script runs, on the same lines; a shape that is an object already stays as it is.
"""

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from toolcrib.sandbox import Finding, Language
from toolcrib.sandbox.deno.text import uses_of

NAME = "extract"
"""What the function is called in scripts."""

LOOPED = "extract-in-loop"
"""The rule of the finding that warns of a use that may cost many requests to the model."""

PYTHON_STUB = f"""
_Shape = TypeVar("_Shape")
@overload
async def {NAME}(value: Any, shape: type[_Shape]) -> _Shape: ...
@overload
async def {NAME}(value: Any, shape: Any) -> Any: ...
"""
"""Its type, for the check of scripts of Python; a `TypedDict` gives that type back."""

TYPESCRIPT_STUB = f"declare function {NAME}(value: any, shape: object): Promise<any>;\n"

_PLAIN: Mapping[str, Any] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "Any": {},
    "object": {},
    "dict": {"type": "object"},
    "list": {"type": "array"},
}
_LISTS = frozenset({"list", "List", "Sequence", "Iterable", "set", "Set", "frozenset"})
_MAPPINGS = frozenset({"dict", "Dict", "Mapping"})
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Extractions:
    """A script with respect to `extract`.

    Attributes:
        is_used: Whether it calls the function, and not one of its own of that name.
        checked: Its text for a check of types: each `TypedDict` that serves as a shape is left to the stubs.
        run: Its text to be run: shapes are JSON Schemas.
        stub: The type of the function, and of the shapes that were taken out.
        findings: What is to be told of its use.
    """

    is_used: bool
    checked: str
    run: str
    stub: str = ""
    findings: tuple[Finding, ...] = ()


def extractions(code: str, language: Language, *, is_there: bool) -> Extractions:
    """What a script does with `extract`.

    Args:
        code: The script.
        language: What it is written in.
        is_there: Whether there is a model to ask.
    """
    if NAME not in code:
        return Extractions(False, code, code)
    uses = _uses_in_python(code) if language == "python" else uses_of(code, NAME)
    if not uses:
        return Extractions(False, code, code)
    if is_there:
        findings = tuple(_in_loop(line, column) for line, column, looped in uses if looped)
    else:
        line, column, _ = uses[0]
        text = "There is no extract here: no small model is configured."
        hint = "Set `toolcrib.small_model` to provider:model; until then, pick the data out in the script."
        findings = (Finding(line, column, "no-small-model", text, hint=hint),)
    if language != "python":
        return Extractions(True, code, code, TYPESCRIPT_STUB, findings)
    return replace(_of_python(code), findings=findings)


class _NoShapeError(Exception):
    """An expression that is no type which can be told by a schema."""


class _Shapes:
    """Types of a script as JSON Schemas."""

    def __init__(self, tree: ast.Module) -> None:
        self.classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef) and _is_typed(each)}
        self._aliases: dict[str, ast.expr] = {}
        for each in tree.body:
            if isinstance(each, ast.Assign) and len(each.targets) == 1 and isinstance(each.targets[0], ast.Name):
                self._aliases[each.targets[0].id] = each.value
        self._defs: dict[str, Any] = {}
        self._open: set[str] = set()

    def schema(self, node: ast.expr) -> dict[str, Any]:
        """The schema of a type.

        Raises:
            _NoShapeError: It is none.
        """
        self._defs = {}
        root = self._of(node)
        if root.keys() == {"$ref"} and not _refers(self._defs, root["$ref"]):
            root = self._defs.pop(root["$ref"].removeprefix("#/$defs/"))
        return {**root, "$defs": self._defs} if self._defs else root

    def _of(self, node: ast.expr) -> dict[str, Any]:
        match node:
            case ast.Constant(None):
                return dict(_PLAIN["None"])
            case ast.Constant(str() as text):
                return self._of(_parsed(text))
            case ast.Name(name) | ast.Attribute(_, name):
                return self._named(name)
            case ast.BinOp(left, ast.BitOr(), right):
                return _either([self._of(left), self._of(right)])
            case ast.Subscript(ast.Name(name) | ast.Attribute(_, name), inner):
                return self._generic(name, inner.elts if isinstance(inner, ast.Tuple) else [inner])
            case _:
                raise _NoShapeError

    def _named(self, name: str) -> dict[str, Any]:
        if name in self.classes:
            if name not in self._defs:
                self._defs[name] = {}
                self._defs[name] = self._object(self.classes[name])
            return {"$ref": f"#/$defs/{name}"}
        if name in self._aliases and name not in self._open:
            self._open.add(name)
            try:
                return self._of(self._aliases[name])
            finally:
                self._open.discard(name)
        if name in _PLAIN:
            return dict(_PLAIN[name])
        raise _NoShapeError

    def _generic(self, name: str, inner: list[ast.expr]) -> dict[str, Any]:
        if name == "Literal":
            values = [each.value for each in inner if isinstance(each, ast.Constant)]
            if len(values) != len(inner):
                raise _NoShapeError
            return {"enum": values}
        if name in _LISTS and len(inner) == 1:
            return {"type": "array", "items": self._of(inner[0])}
        if name in _MAPPINGS and len(inner) == 2:
            return {"type": "object", "additionalProperties": self._of(inner[1])}
        if name == "Union":
            return _either([self._of(each) for each in inner])
        if name == "Optional" and len(inner) == 1:
            return _either([self._of(inner[0]), dict(_PLAIN["None"])])
        if name in ("Required", "NotRequired", "ReadOnly", "Annotated"):
            return self._of(inner[0])
        raise _NoShapeError

    def _object(self, node: ast.ClassDef) -> dict[str, Any]:
        total = not any(
            each.arg == "total" and isinstance(each.value, ast.Constant) and not each.value.value
            for each in node.keywords
        )
        properties: dict[str, Any] = {}
        required: list[str] = []
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in self.classes:
                above = self._object(self.classes[base.id])
                properties |= above["properties"]
                required += above.get("required", [])
        for each in node.body:
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                properties[each.target.id] = self._of(each.annotation)
                if _marked(each.annotation, "Required") or (total and not _marked(each.annotation, "NotRequired")):
                    required.append(each.target.id)
        shape: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        if (text := ast.get_docstring(node)) is not None:
            shape["description"] = " ".join(text.split())
        return {**shape, "required": required} if required else shape


def _uses_in_python(code: str) -> list[tuple[int, int, bool]]:
    """Where a script calls the function: line, column, and whether that is in a loop."""
    try:
        tree = ast.parse(code)
        calls = list(_calls(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [] if _is_own(tree) else [(call.lineno, call.col_offset + 1, looped) for call, looped in calls]


def _of_python(code: str) -> Extractions:
    tree = ast.parse(code)
    shapes = _Shapes(tree)
    lines = code.encode("utf-8", "surrogatepass").split(b"\n")
    edits: list[tuple[ast.expr, str]] = []
    used: set[str] = set()
    for call, _ in _calls(tree):
        node = _shape_of(call)
        if node is None or isinstance(node, ast.Dict):
            continue
        try:
            edits.append((node, _literal(shapes.schema(node))))
            used |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        except (_NoShapeError, RecursionError):
            pass  # a variable, which is an object when the script runs, or is refused then
    stubs, left = _moved(code, lines, shapes, used)
    return Extractions(True, left, _edited(lines, edits), f"{stubs}{PYTHON_STUB}")


def _in_loop(line: int, column: int) -> Finding:
    text = "extract asks a model each time, here in a loop."
    return Finding(line, column, LOOPED, text, is_error=False, hint="Extract from many values at once, as a list.")


def _calls(tree: ast.AST, looped: bool = False) -> Iterator[tuple[ast.Call, bool]]:
    """The calls of the function, each with whether it may be made many times."""
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == NAME:
        yield tree, looped
    for name, value in ast.iter_fields(tree):
        inside = looped
        if isinstance(tree, (ast.For, ast.AsyncFor)):
            inside = looped or name == "body"
        elif isinstance(tree, (ast.While, *_COMPREHENSIONS)):
            # what the first loop of a comprehension goes over is evaluated once
            inside = looped or name in ("test", "body", "elt", "key", "value")
        children = cast("list[object]", value) if isinstance(value, list) else [value]
        for child in children:
            if isinstance(child, ast.AST):
                yield from _calls(child, inside)


def _is_own(tree: ast.Module) -> bool:
    """Whether the script has something of its own by that name."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(name, ast.Store()) if name == NAME:
                return True
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name) if name == NAME:
                return True
            case ast.arg(name) if name == NAME:
                return True
            case ast.alias(name, own) if (own or name) == NAME:
                return True
            case _:
                pass
    return False


def _shape_of(call: ast.Call) -> ast.expr | None:
    if len(call.args) > 1:
        return call.args[1]
    return next((each.value for each in call.keywords if each.arg == "shape"), None)


def _moved(code: str, lines: list[bytes], shapes: _Shapes, used: set[str]) -> tuple[str, str]:
    """The classes among the shapes, as stubs, and the script without them: with them Monty can't tell types."""
    wanted = {name for name in shapes.classes if name in used}
    while True:
        more = {
            each.id
            for name in wanted
            for each in ast.walk(shapes.classes[name])
            if isinstance(each, ast.Name) and each.id in shapes.classes
        }
        if more <= wanted:
            break
        wanted |= more
    if not wanted:
        return "", code
    kept = list(lines)
    parts: list[str] = []
    for name, node in shapes.classes.items():
        if name in wanted and node.end_lineno is not None:
            parts.append(ast.unparse(node))
            for place in range(node.lineno - 1, node.end_lineno):
                kept[place] = b""
    return "\n".join([*parts, ""]), b"\n".join(kept).decode("utf-8", "surrogatepass")


def _edited(lines: list[bytes], edits: list[tuple[ast.expr, str]]) -> str:
    """The script with expressions replaced, each by as many lines."""
    made = list(lines)
    for node, text in sorted(edits, key=lambda edit: (edit[0].lineno, edit[0].col_offset), reverse=True):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first, last = node.lineno - 1, node.end_lineno - 1
        tail = made[last][node.end_col_offset :]
        made[first] = made[first][: node.col_offset] + text.encode("utf-8", "surrogatepass")
        for place in range(first + 1, last + 1):
            made[place] = b""
        made[last] += tail
    return b"\n".join(made).decode("utf-8", "surrogatepass")


def _literal(schema: Mapping[str, Any]) -> str:
    """A schema as Python writes it, on one line."""
    return repr(json.loads(json.dumps(schema)))


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        raise _NoShapeError from None


def _is_typed(node: ast.ClassDef) -> bool:
    bases = {base.id if isinstance(base, ast.Name) else getattr(base, "attr", "") for base in node.bases}
    return "TypedDict" in bases


def _marked(node: ast.expr, mark: str) -> bool:
    return isinstance(node, ast.Subscript) and getattr(node.value, "id", getattr(node.value, "attr", "")) == mark


def _either(forms: list[dict[str, Any]]) -> dict[str, Any]:
    flat = [inner for form in forms for inner in (form["anyOf"] if form.keys() == {"anyOf"} else [form])]
    return {"anyOf": flat}


def _refers(defs: Mapping[str, Any], target: str) -> bool:
    return f'"{target}"' in json.dumps(defs)
