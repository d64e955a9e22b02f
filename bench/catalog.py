"""A recorded catalog as a source that lists what was recorded and answers nothing."""

from typing import Any

from toolcrib.catalog import LIST_MEMBERS, NO_CONTEXT, JsonObject, ListMethod, RequestContext, RequestMethod
from toolcrib.errors import ProtocolError


class CatalogSource:
    """A source over one recorded catalog."""

    def __init__(self, name: str, catalog: dict[str, Any]) -> None:
        self.id = name.replace("-", "_")
        self.description = ""
        self._catalog = catalog

    async def ensure(self, context: RequestContext = NO_CONTEXT) -> None:
        """Nothing to do."""

    async def list(self, method: ListMethod, context: RequestContext = NO_CONTEXT) -> list[JsonObject]:
        return list(self._catalog.get(LIST_MEMBERS[method]) or [])

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        raise ProtocolError(self.id, "a recording answers nothing", rpc_code=-32601)
