"""`MCPLlm`: makes clients of models by the provider's name, as people know it from elsewhere."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolcrib.llm.client import LlmClient
from toolcrib.llm.naming import LlmConfiguration, ProviderFactory, provider_by_name, register_provider

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client.session import ClientSession


class MCPLlm:
    """Makes `LlmClient`s."""

    def register_provider(self, name: str, factory: ProviderFactory) -> None:
        """See `toolcrib.llm.register_provider`."""
        register_provider(name, factory)

    async def create_client(
        self,
        provider_name: str,
        config: LlmConfiguration | None = None,
        mcp_client: "Client | ClientSession | Mapping[str, Client | ClientSession] | None" = None,
        **options: Any,
    ) -> LlmClient:
        """A client over a provider, open.

        Args:
            provider_name: The provider's name.
            config: Key, model and address.
            mcp_client: Connected clients of the MCP SDK.
            options: Every other option of `LlmClient`.

        Raises:
            UsageError: See `LlmClient`.
        """
        provider = provider_by_name(provider_name, config)
        return await LlmClient(provider, mcp_client=mcp_client, **options).__aenter__()
