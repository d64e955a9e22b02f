"""Models of any vendor with the tools of a crib: `LlmClient`."""

from toolcrib.llm.account import Account, Price, Spent
from toolcrib.llm.caching import first_difference
from toolcrib.llm.choice import chosen_surface
from toolcrib.llm.client import LlmClient
from toolcrib.llm.conversation import Conversation
from toolcrib.llm.deferred import DeferredToolManager, LlmToolMetadata
from toolcrib.llm.events import (
    ChatResponse,
    ClientEvent,
    SkillGiven,
    ToolCall,
    ToolEnded,
    ToolStarted,
    Trimmed,
    TurnEnded,
)
from toolcrib.llm.factory import MCPLlm
from toolcrib.llm.messages import Kept, Message, Text, ToolResult, ToolUse
from toolcrib.llm.naming import LlmConfiguration, register_provider
from toolcrib.llm.provider import (
    BrokenAnswerError,
    ContextTooLongError,
    Provider,
    ProviderAuthError,
    ProviderBusyError,
    ProviderError,
    ProviderEvent,
    Request,
    TextDelta,
    ThinkingDelta,
    ToolGroup,
    ToolSpec,
    Traits,
    Turn,
    Usage,
)
from toolcrib.llm.scripted import ScriptedProvider, use
from toolcrib.llm.small import ProviderModel, small_model_of

__all__ = [
    "Account",
    "BrokenAnswerError",
    "ChatResponse",
    "ClientEvent",
    "ContextTooLongError",
    "Conversation",
    "DeferredToolManager",
    "Kept",
    "LlmClient",
    "LlmConfiguration",
    "LlmToolMetadata",
    "MCPLlm",
    "Message",
    "Price",
    "Provider",
    "ProviderAuthError",
    "ProviderBusyError",
    "ProviderError",
    "ProviderEvent",
    "ProviderModel",
    "Request",
    "ScriptedProvider",
    "SkillGiven",
    "Spent",
    "Text",
    "TextDelta",
    "ThinkingDelta",
    "ToolCall",
    "ToolEnded",
    "ToolGroup",
    "ToolResult",
    "ToolSpec",
    "ToolStarted",
    "ToolUse",
    "Traits",
    "Trimmed",
    "Turn",
    "TurnEnded",
    "Usage",
    "chosen_surface",
    "first_difference",
    "register_provider",
    "small_model_of",
    "use",
]
