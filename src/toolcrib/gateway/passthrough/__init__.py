"""What passes through the gateway beside tools: resources, prompts and completions of all servers."""

from toolcrib.gateway.passthrough.completion import PassedCompletion
from toolcrib.gateway.passthrough.prompts import PassedPrompts
from toolcrib.gateway.passthrough.resources import PassedResources

__all__ = ["PassedCompletion", "PassedPrompts", "PassedResources"]
