"""Policy: what may be known of, and what may be called."""

from toolcrib.broker.policy.arguments import passes
from toolcrib.broker.policy.lists import ServerLists
from toolcrib.broker.policy.seam import ALLOW, Decision, ListedTool, Policy

__all__ = ["ALLOW", "Decision", "ListedTool", "Policy", "ServerLists", "passes"]
