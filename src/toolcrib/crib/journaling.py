"""The journal of one crib, as its configuration wants it."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from toolcrib.broker import Access, Caller, DurableJournal, Ledger, Principal, Rules
from toolcrib.catalog import ToolRegistry, as_sent
from toolcrib.config import JournalSettings
from toolcrib.crib.shared import SharedStore
from toolcrib.errors import ToolcribError
from toolcrib.redact import Secrets
from toolcrib.schema import wire_name
from toolcrib.tokens import counter


def ledger_of(shared: SharedStore, state_dir: Path) -> Ledger:
    """The journal's part of the shared store."""
    return Ledger(shared.opened, state_dir)


def journal_of(
    settings: JournalSettings,
    ledger: Ledger,
    instance: str,
    secrets: Secrets,
    *,
    labels: Callable[[Caller], frozenset[str]],
    prices: "Prices",
) -> DurableJournal | None:
    """The journal that calls are recorded in; None where the configuration wants none."""
    if not settings.enabled:
        return None
    rules = Rules(
        power_safe=settings.sync == "full",
        retention_days=settings.retention_days,
        max_rows=settings.max_rows,
        arguments=settings.arguments,
        paths=settings.redact,
        result_days=settings.result_days if settings.arguments == "redacted" else 0.0,
    )
    return DurableJournal(ledger, instance, secrets, rules, labels=labels, price=prices.of)


class Prices:
    """What it would cost to send a model the definitions of all tools, by the estimate of `toolcrib.tokens`.

    Args:
        registry: The catalog.
        access: Says which tools a principal may know of.
    """

    def __init__(self, registry: ToolRegistry, access: Access) -> None:
        self._registry = registry
        self._access = access
        self._known: dict[Principal, tuple[int, int]] = {}

    def of(self, principal: Principal) -> Callable[[], int]:
        """A function that counts the tokens for a principal; it may read files, so it belongs into a thread."""
        version = self._registry.version
        visible = tuple(self._access.visible(principal))

        def count() -> int:
            known = self._known.get(principal)
            if known is None or known[0] != version:
                known = self._known[principal] = (version, sum(map(self._one, visible)))
            return known[1]

        return count

    def _one(self, tool_id: str) -> int:
        # The catalog may change meanwhile, in its own thread: what is gone then costs nothing.
        with suppress(ToolcribError, LookupError):
            tool = self._registry.tool(tool_id)
            return counter("estimate").count(as_sent({**tool.definition, "name": wire_name(tool.server, tool.name)}))
        return 0
