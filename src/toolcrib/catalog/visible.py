"""`VisibleSet`: the tool ids that one caller may know of."""

from collections.abc import Iterable, Iterator


class VisibleSet:
    """An immutable set of tool ids, equal only to itself.

    It is compiled once per principal, policy and catalog version and then handed around. Hash and equality
    go by identity, and weak references are allowed, so that whoever derives something costly from it (a
    mask over an index) can keep that for as long as the set lives.

    Args:
        ids: The tool ids.
    """

    __slots__ = ("__weakref__", "_ids")

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids = frozenset(ids)

    def __contains__(self, tool_id: object) -> bool:
        return tool_id in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        return f"<VisibleSet of {len(self._ids)} tools>"
