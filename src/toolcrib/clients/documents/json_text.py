"""JSON with comments, as nearly all clients have it."""

from collections.abc import Collection, Mapping
from typing import Any

from toolcrib.config.jsonedit import members_at, with_members


class JsonText:
    """Read by Toolcrib's own reader of configurations, and changed in place."""

    def servers(self, text: str, root: tuple[str, ...], name: str) -> Mapping[str, Any]:
        """The servers by key; see `Document`."""
        return members_at(text, root, name)

    def changed(
        self, text: str, root: tuple[str, ...], name: str, without: Collection[str], put: Mapping[str, Any]
    ) -> str:
        """The text with other servers; see `Document`."""
        return with_members(text, root, name, without=without, put=put)
