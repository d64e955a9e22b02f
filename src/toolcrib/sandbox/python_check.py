"""What can be told of a Python script from its text alone, for every back-end that runs Python."""

import ast
from collections.abc import Iterator

from toolcrib.sandbox.contract import Finding, Names

_MOST_FINDINGS = 50


def look_through(code: str, names: Names) -> list[Finding]:
    """Broken syntax, tools that there aren't, and calls that are never awaited.

    Args:
        code: The script.
        names: What it may call.
    """
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        return [Finding(error.lineno or 1, error.offset or 0, "syntax", f"{error.msg}.")]
    except (RecursionError, MemoryError, ValueError) as error:
        return [Finding(1, 0, "syntax", f"The script can't be read: {error}.")]
    look = _Look(names, _bound(tree))
    try:
        findings = list(look.at(tree))
    except RecursionError:
        return [Finding(1, 0, "syntax", "The script is nested too deep.")]
    return sorted(findings[:_MOST_FINDINGS], key=lambda finding: (finding.line, finding.column))


class _Look:
    def __init__(self, names: Names, bound: set[str]) -> None:
        self._names = names
        self._bound = bound

    def at(self, tree: ast.Module) -> Iterator[Finding]:
        parents: dict[int, ast.AST] = {}
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                parents[id(child)] = node
            if isinstance(node, ast.Attribute):
                yield from self._attribute(node)
            elif isinstance(node, ast.Call) and self._tool(node.func):
                yield from self._awaited(node, parents.get(id(node)))

    def _attribute(self, node: ast.Attribute) -> Iterator[Finding]:
        """An attribute of a namespace that is no tool of it."""
        name = self._tool(node)
        if name and not self._names.knows(name) and not (node.attr.startswith("__") and node.attr.endswith("__")):
            server, _, tool = name.partition(".")
            text = f"{server} has no tool {tool!r}."
            hint = self._names.hint(name)
            yield Finding(node.lineno, node.col_offset + 1, "unknown-tool", text, hint=hint)

    def _awaited(self, node: ast.Call, parent: ast.AST | None) -> Iterator[Finding]:
        """A call whose result is thrown away or used as if it were there already."""
        used = isinstance(parent, (ast.Expr, ast.Subscript, ast.Attribute, ast.BinOp, ast.Compare, ast.FormattedValue))
        looped = isinstance(parent, ast.For) and parent.iter is node
        if used or looped:
            name = self._tool(node.func)
            text = f"{name}(...) is not awaited, so nothing comes of it."
            yield Finding(node.lineno, node.col_offset + 1, "not-awaited", text, hint=f"Write: await {name}(...)")

    def _tool(self, node: ast.expr) -> str:
        """The tool or function that an expression names; empty when it is something else."""
        if isinstance(node, ast.Name):
            return node.id if node.id in self._names.functions and node.id not in self._bound else ""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            server = node.value.id
            if server in self._names.namespaces and server not in self._bound:
                return f"{server}.{node.attr}"
        return ""


def _bound(tree: ast.Module) -> set[str]:
    """Names that the script itself gives a value: they may be something else than what they are here."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
    return found
