"""How a crib asks for approvals."""

from toolcrib.broker import Approver, Asking, DataFlow, Inbox, Limits
from toolcrib.config import ApprovalSettings
from toolcrib.crib.shared import SharedStore
from toolcrib.events import EventBus
from toolcrib.redact import Secrets


def asking_of(
    settings: ApprovalSettings,
    approver: Approver | None,
    shared: SharedStore,
    secrets: Secrets,
    flow: DataFlow,
    events: EventBus,
) -> Asking:
    """What asks, as configured. A program that gave an approver has no use for the inbox."""
    return Asking(
        Limits(settings.timeout, settings.patience, settings.grants),
        approver=approver,
        inbox=Inbox(shared.opened, shared.exists, secrets.text) if settings.inbox and approver is None else None,
        flow=flow,
        on_change=events.publish,
    )
