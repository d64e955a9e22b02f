"""The servers' own lists of what is offered: the first thing that a policy looks at."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from toolcrib.broker.call import Call, Principal
from toolcrib.broker.policy.seam import ALLOW, Decision, ListedTool
from toolcrib.config import ServerOptions


class ServerLists:
    """Each server's `allow` and `deny` lists, and nothing else.

    Args:
        allow: Globs over the tools' own names, by server id; a server without an entry allows all.
        deny: The same for what is denied; it wins over `allow`.
    """

    def __init__(self, allow: Mapping[str, Sequence[str]], deny: Mapping[str, Sequence[str]]) -> None:
        self._allow = {server: tuple(globs) for server, globs in allow.items()}
        self._deny = {server: tuple(globs) for server, globs in deny.items() if globs}

    @classmethod
    def of(cls, servers: Mapping[str, ServerOptions]) -> "ServerLists":
        """The lists in the options of servers, by id."""
        return cls(
            allow={server: options.allow for server, options in servers.items() if options.allow != ("*",)},
            deny={server: options.deny for server, options in servers.items()},
        )

    def hides(self, principal: Principal, server: str, tool: ListedTool | None) -> bool:
        """Whether the lists leave the tool out; they say nothing of what else a source has."""
        return tool is not None and self.reason(server, tool.name) is not None

    def reason(self, server: str, tool_name: str) -> str | None:
        """Why the lists leave a tool out, or None."""
        allowed = self._allow.get(server)
        if allowed is not None and not any(fnmatchcase(tool_name, glob) for glob in allowed):
            return f"the `allow` list of {server} does not have it"
        if any(fnmatchcase(tool_name, glob) for glob in self._deny.get(server, ())):
            return f"the `deny` list of {server} has it"
        return None

    def decide(self, call: Call) -> Decision:
        """Whatever the lists leave in may be called."""
        reason = None if call.tool is None else self.reason(call.source, call.tool.name)
        return ALLOW if reason is None else Decision("deny", reason, "lists")
