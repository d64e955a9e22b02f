"""Policy: what may be known of, and what may be called."""

from toolcrib.broker.policy.arguments import passes
from toolcrib.broker.policy.checking import with_policy_warnings
from toolcrib.broker.policy.configured import ConfiguredPolicy, Explanation, Step
from toolcrib.broker.policy.lists import ServerLists
from toolcrib.broker.policy.seam import ALLOW, NO_READ, Decision, ListedTool, Policy

__all__ = [
    "ALLOW",
    "NO_READ",
    "ConfiguredPolicy",
    "Decision",
    "Explanation",
    "ListedTool",
    "Policy",
    "ServerLists",
    "Step",
    "passes",
    "with_policy_warnings",
]
