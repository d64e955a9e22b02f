"""How a crib asks for approvals."""

from toolcrib.broker import Approver, Asking, DataFlow, Inbox, Limits
from toolcrib.broker.approvals import Pending
from toolcrib.config import ApprovalSettings
from toolcrib.crib.shared import SharedStore
from toolcrib.events import ApprovalChanged, EventBus
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

    def on_change(pending: Pending) -> None:
        question, answer = pending.question, pending.answer
        status = "waiting" if answer is None else "approved" if answer.approved else "denied"
        by = "" if answer is None else answer.by
        events.publish(ApprovalChanged(question.id, question.call.target, status, by))

    return Asking(
        Limits(settings.timeout, settings.patience, settings.grants),
        approver=approver,
        inbox=Inbox(shared.opened, shared.exists, secrets.text) if settings.inbox and approver is None else None,
        flow=flow,
        on_change=on_change,
    )
