"""`rewritten`: a script of Python as one that Monty runs, each line where it was.

Monty lacks things that models write every day. Most can be said otherwise on the same line: `del d[k]` as
`d.pop(k)`, say. Edits are made at the places that the syntax tree gives; no line is added or taken away, so that
errors, and what a check of types says, name the script's own lines.
"""

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from toolcrib.sandbox.monty.modules import ASYNCIO, MODULES, TYPING, words
from toolcrib.sandbox.monty.prelude import ERROR_INFO

_ERROR_FIELDS = {what: name for name, what in ERROR_INFO.items()}

_STAND_INS = {
    "asyncio.create_task": "same__",
    "asyncio.ensure_future": "same__",
    "asyncio.shield": "same__",
    "asyncio.wait_for": "timed__",
    "asyncio.as_completed": "listed__",
    "asyncio.Semaphore": "nothing__",
    "asyncio.BoundedSemaphore": "nothing__",
    "asyncio.Lock": "nothing__",
}
_TYPE_MODULES = frozenset({"abc", "collections.abc"})
_LIMITERS = frozenset({"asyncio.Semaphore", "asyncio.BoundedSemaphore", "asyncio.Lock", "asyncio.timeout"})
_METHODS = words(
    "get pop lower upper strip lstrip rstrip title capitalize casefold split splitlines startswith endswith replace "
    "append extend add update count index find items keys values isdigit isalpha join format setdefault"
)
_TYPES = frozenset({"str", "dict", "list", "set", "bytes"})


@dataclass(slots=True)
class Rewritten:
    """A script that Monty may run.

    Attributes:
        code: Its text, of as many lines.
        modules: Modules that it imports and that have to be made first.
        missing: Modules that it imports and nobody has, each with its line.
        hiding: Builtin names that its comprehensions give to items. Outside of functions Monty takes them for the
            builtins all the same, unless the script's own names have them.
    """

    code: str
    modules: list[str] = field(default_factory=list[str])
    missing: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    hiding: tuple[str, ...] = ()


def rewritten(code: str, namespaces: Iterable[str], native: frozenset[str]) -> Rewritten:
    """A script with what Monty lacks said otherwise; not to be changed, since it is kept for the run after a check.

    Args:
        code: The script.
        namespaces: Names that it may import although they are no modules.
        native: Modules that Monty has.

    What this Python can't read stays as it is: Monty may know newer syntax.

    Raises:
        RecursionError: It is nested too deep to be looked through.
    """
    return _rewritten(code.replace("\r\n", "\n").replace("\r", "\n"), frozenset(namespaces), native)


@lru_cache(8)
def _rewritten(code: str, namespaces: frozenset[str], native: frozenset[str]) -> Rewritten:
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return Rewritten(code)
    writer = _Writer(code, tree, namespaces, native)
    writer.visit(tree)
    writer.return_of_main()
    text = writer.text()
    try:
        ast.parse(text)
    except SyntaxError:
        # edits that got into each other's way: what Monty says of the script as it stands is clearer
        text = code
    return Rewritten(text, writer.modules, writer.missing, _hiding(tree))


class _Writer(ast.NodeVisitor):
    """Gathers the edits of one script."""

    def __init__(self, code: str, tree: ast.Module, namespaces: frozenset[str], native: frozenset[str]) -> None:
        self._data = code.encode("utf-8", "replace")
        self._tree = tree
        self._namespaces = namespaces
        self._native = native
        self._starts = [0]
        for line in self._data.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._edits: list[tuple[int, int, bytes]] = []
        self._imported = dict(_imported(tree))
        self._functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        self._used = _used(tree)
        self._limiters = set(_assigned(tree, lambda value: self._called(value) in _LIMITERS))
        self._handlers: list[str] = []
        self.modules: list[str] = []
        self.missing: list[tuple[str, int]] = []

    def text(self) -> str:
        """The script with all edits made; as it was where two of them got into each other's way."""
        parts: list[bytes] = []
        at = 0
        for start, end, new in sorted(self._edits):
            if start < at:
                return self._data.decode()
            parts += [self._data[at:start], new]
            at = end
        made = b"".join([*parts, self._data[at:]])
        return (made if made.count(b"\n") == self._data.count(b"\n") else self._data).decode()

    def return_of_main(self) -> None:
        """`if __name__ == "__main__": main()` at the end gives main's value, as it would without the condition."""
        last = self._tree.body[-1] if self._tree.body else None
        if isinstance(last, ast.If) and not last.orelse and _is_main(last.test):
            final = last.body[-1]
            if isinstance(final, ast.Expr):
                self._insert(self._start(final), "return ")

    def visit_Delete(self, node: ast.Delete) -> None:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._replace(self._start(node), self._start(node.targets[0]), "")
            self._insert(self._end(node.targets[0]), " = None")
        elif all(isinstance(target, ast.Subscript) for target in node.targets):
            one = len(node.targets) == 1
            first = node.targets[0]
            if one and isinstance(first, ast.Subscript) and isinstance(first.slice, ast.Slice):
                self._replace(self._start(node), self._start(first), "")
                self._insert(self._end(first), " = []")
            else:
                self._replace(self._start(node), self._start(first), "gone__ = ")
                for target in node.targets:
                    if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
                        self._swap(self._end(target.value), self._start(target.slice), "[", ".pop(")
                        self._swap(self._end(target.slice), self._end(target), "]", ")")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        called = self._called(node)
        names = {keyword.arg for keyword in node.keywords}
        if called in _STAND_INS:
            self._rename(node.func, _STAND_INS[called])
        elif called == "asyncio.gather" and "return_exceptions" in names:
            self._rename(node.func, "gathered__")
        elif called == "json.dumps" and "default" in names:
            self._rename(node.func, "dumped__")
        elif called == "re.sub" and len(node.args) > 1 and self._is_function(node.args[1]):
            self._rename(node.func, "substituted__")
        elif called == "next" and len(node.args) == 2 and isinstance(node.args[0], ast.GeneratorExp):
            self._wrap(node.args[0], "iter(", ")")
        for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
            self._method(value)
        self.generic_visit(node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> None:
        if all(item.optional_vars is None and self._limits(item.context_expr) for item in node.items):
            end = self._end(node.items[-1].context_expr)
            colon = self._data.index(b":", end)
            lines = self._data[self._start(node) : colon].count(b"\n")
            self._replace(self._start(node), colon, "if True" if not lines else "if (True" + "\n" * lines + ")")
            for child in node.body:
                self.visit(child)
        else:
            self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._handlers.append(node.name or "")
        self.generic_visit(node)
        self._handlers.pop()

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if (
            isinstance(node.ctx, ast.Load)
            and node.attr in _ERROR_FIELDS
            and isinstance(node.value, ast.Name)
            and node.value.id in self._handlers
        ):
            self._insert(self._start(node), f"{_ERROR_FIELDS[node.attr]}(str(")
            self._replace(self._end(node.value), self._end(node), "))")
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        bases = [self._dotted(base) for base in node.bases]
        if bases and all(base in ("typing.TypedDict", "typing.Protocol", "abc.ABC", "object") for base in bases):
            first, last = node.bases[0], (node.keywords[-1].value if node.keywords else node.bases[-1])
            opening = self._data.rindex(b"(", self._start(node), self._start(first) + 1)
            closing = self._data.index(b")", self._end(last))
            if b"\n" not in self._data[opening:closing]:
                self._replace(opening, closing + 1, "")
        for child in node.body:
            self.visit(child)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            root = alias.name.partition(".")[0]
            if alias.name == "urllib.parse":
                self._rename_alias(alias, "urllib_parse__" if alias.asname else "urllib__", alias.asname or "urllib")
            elif len(node.names) == 1 and alias.name in self._namespaces:
                self._replace(
                    self._start(node), self._end(node), f"{alias.asname} = {alias.name}" if alias.asname else "pass"
                )
            elif len(node.names) == 1 and alias.name in _TYPE_MODULES and (alias.asname or root) not in self._used:
                self._replace(self._start(node), self._end(node), "pass")
            else:
                self._need(alias.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if module == "__future__":
            self._line(node, "pass")
        elif module in self._namespaces:
            pairs = [f"{alias.asname or alias.name} = {module}.{alias.name}" for alias in node.names]
            self._line(node, "; ".join(pairs))
        elif module == "urllib.parse":
            start = self._data.index(b"urllib.parse", self._start(node))
            self._replace(start, start + len("urllib.parse"), "urllib_parse__")
            self._make("urllib_parse__")
        elif module == "urllib" and [alias.name for alias in node.names] == ["parse"]:
            self._line(node, f"import urllib_parse__ as {node.names[0].asname or 'parse'}")
            self._make("urllib_parse__")
        elif module in ("typing", "typing_extensions"):
            self._keep(node, TYPING, "typing")
        elif module in _TYPE_MODULES:
            self._keep(node, frozenset(), module)
        elif module == "asyncio":
            self._keep(node, ASYNCIO, "asyncio")
        else:
            self._need(module, node.lineno)

    def _keep(self, node: ast.ImportFrom, known: frozenset[str], module: str) -> None:
        """An import without the names that Monty lacks, if the script can do without them."""
        kept = [alias for alias in node.names if alias.name in known]
        left = [alias for alias in node.names if alias.name not in known]
        for alias in left:
            name = alias.asname or alias.name
            dotted = f"{module}.{alias.name}"
            if name in self._used and dotted not in _STAND_INS and alias.name not in ("cast", "TypedDict", "ABC"):
                if module in _TYPE_MODULES:
                    self.missing.append((module, node.lineno))
                return
        if left or module == "typing_extensions":
            names = ", ".join(f"{a.name} as {a.asname}" if a.asname else a.name for a in kept)
            self._line(node, f"from {module} import {names}" if names else "pass")

    def _line(self, node: ast.stmt, text: str) -> None:
        """Another statement in the place of one, on its first line."""
        start, end = self._start(node), self._end(node)
        # a line break may stand in brackets only
        breaks = self._data[start:end].count(b"\n")
        self._replace(start, end, text + ("; (" + "\n" * breaks + ")" if breaks else ""))

    def _need(self, module: str, line: int) -> None:
        root = module.partition(".")[0]
        if module in MODULES:
            self._make(module)
        elif module != "os.path" and (module not in self._native or "." in module) and root not in self._namespaces:
            self.missing.append((module, line))

    def _make(self, module: str) -> None:
        if module not in self.modules:
            self.modules.append(module)

    def _rename_alias(self, alias: ast.alias, module: str, name: str) -> None:
        self._make(module)
        self._replace(self._start(alias), self._end(alias), f"{module} as {name}")

    def _method(self, value: ast.expr) -> None:
        """A bound method that is handed on, which Monty can't, as a function that calls it."""
        if not isinstance(value, ast.Attribute) or value.attr not in _METHODS:
            return
        root: ast.expr = value
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in self._namespaces:
            return
        if isinstance(value.value, ast.Name) and value.value.id in _TYPES:
            self._replace(self._start(value), self._end(value), f"lambda v__, *a__: v__.{value.attr}(*a__)")
        else:
            self._wrap(value, "lambda *a__: (", ")(*a__)")

    def _is_function(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Lambda) or (isinstance(value, ast.Name) and value.id in self._functions)

    def _limits(self, value: ast.expr) -> bool:
        name = value.id if isinstance(value, ast.Name) else value.attr if isinstance(value, ast.Attribute) else ""
        return name in self._limiters or self._called(value) in _LIMITERS

    def _called(self, node: ast.AST) -> str:
        return self._dotted(node.func) if isinstance(node, ast.Call) else ""

    def _dotted(self, node: ast.expr) -> str:
        """What a name or attribute stands for, by the script's imports: `asyncio.gather`."""
        if isinstance(node, ast.Name):
            return self._imported.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            return f"{self._dotted(node.value)}.{node.attr}"
        return ""

    def _rename(self, node: ast.expr, name: str) -> None:
        self._replace(self._start(node), self._end(node), name)

    def _wrap(self, node: ast.expr, before: str, after: str) -> None:
        self._insert(self._start(node), before)
        self._insert(self._end(node), after)

    def _swap(self, start: int, end: int, old: str, new: str) -> None:
        gap = self._data[start:end].decode()
        self._replace(start, end, gap.replace(old, new, 1))

    def _insert(self, at: int, text: str) -> None:
        self._edits.append((at, at, text.encode()))

    def _replace(self, start: int, end: int, text: str) -> None:
        self._edits.append((start, end, text.encode()))

    def _start(self, node: ast.stmt | ast.expr | ast.alias) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.stmt | ast.expr | ast.alias) -> int:
        return self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """For each name that an import gives, what it stands for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (
                    alias.asname or alias.name.partition(".")[0],
                    (alias.name if alias.asname else alias.name.partition(".")[0]),
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _hiding(tree: ast.Module) -> tuple[str, ...]:
    """Builtin names that comprehensions give to items."""
    targets = [node.target for node in ast.walk(tree) if isinstance(node, ast.comprehension)]
    names = {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return tuple(sorted(name for name in names if hasattr(builtins, name)))


def _used(tree: ast.Module) -> set[str]:
    """Names that are read when the script runs: not those in annotations, nor bases of a `TypedDict`."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            arguments = node.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            parts = [node.returns, *(each.annotation for each in every if each)]
        elif isinstance(node, ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.ClassDef):
            parts = [*node.bases]
        for part in parts:
            if part is not None:
                skipped.update(id(inner) for inner in ast.walk(part))
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in skipped}


def _assigned(tree: ast.Module, fits: Callable[[ast.expr], bool]) -> Iterator[str]:
    """Names and attributes that are given a value that fits."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and fits(node.value):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id
                elif isinstance(target, ast.Attribute):
                    yield target.attr


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"
