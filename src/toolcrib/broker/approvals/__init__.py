"""Approvals: what is asked about a call before it goes on, whom, and what a yes allows."""

from toolcrib.broker.approvals.asking import ELICIT, Approver, Asking, Limits
from toolcrib.broker.approvals.bounds import typed_test
from toolcrib.broker.approvals.desk import Approvals
from toolcrib.broker.approvals.grants import Grant, Granted, Scope
from toolcrib.broker.approvals.inbox import Approval, Inbox, StoredGrants
from toolcrib.broker.approvals.pending import Answer, Pending
from toolcrib.broker.approvals.question import Question, definition_digest

__all__ = [
    "ELICIT",
    "Answer",
    "Approval",
    "Approvals",
    "Approver",
    "Asking",
    "Grant",
    "Granted",
    "Inbox",
    "Limits",
    "Pending",
    "Question",
    "Scope",
    "StoredGrants",
    "definition_digest",
    "typed_test",
]
