"""The program that the suite's client scenarios run: Toolcrib's library as an MCP client of one server.

The suite starts it as `client.py URL` and says what to do in `MCP_CONFORMANCE_SCENARIO` and, where there is more to
say, `MCP_CONFORMANCE_CONTEXT`. It logs in where the server wants a login, as a person with a browser would.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2

from toolcrib import Crib, ToolcribError
from toolcrib.broker import Options
from toolcrib.catalog import JsonObject, Tool
from toolcrib.config import config_from_mapping
from toolcrib.errors import AuthRequiredError, ProtocolError, ServerError
from toolcrib.servers import Vault
from toolcrib.servers.auth.login import Person, log_in

MOST_LOGINS = 3

CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The client metadata document that the suite's authorization server knows."""

NOT_OFFERED = ("auth/client-credentials", "auth/enterprise", "auth/dpop", "auth/wif")
"""Extensions that Toolcrib's logins don't know, by how the scenarios begin; the suite runs and does not count them."""

Act = Callable[[Crib, JsonObject], Awaitable[None]]


class User:
    """What stands behind the client: somebody who confirms everything, and takes the defaults of a form."""

    def __init__(self) -> None:
        self.capabilities = {"elicitation": {"form": {"applyDefaults": True}}}

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        if method != "elicitation/create":
            raise ProtocolError("client", f"{method} is not answered", rpc_code=-32601)
        fields = params["requestedSchema"].get("properties", {})
        content = {name: field["default"] for name, field in fields.items() if "default" in field}
        content |= {
            name: True for name, field in fields.items() if field == {"type": "boolean", "description": "Confirm?"}
        }
        return {"action": "accept", "content": content}


async def call(crib: Crib, tool: str, arguments: JsonObject | None = None) -> JsonObject:
    """A call of a tool by its name; what is asked meanwhile is answered."""
    [found] = [each for each in await crib.tools() if each.name == tool]
    return (await crib.request("tools/call", found.id, arguments or {}, options=Options(client=User()))).result


async def list_tools(crib: Crib, context: JsonObject) -> None:
    await crib.tools()


async def call_everything(crib: Crib, context: JsonObject) -> None:
    for tool in await crib.tools():
        await call(crib, tool.name, example(tool))


async def add_numbers(crib: Crib, context: JsonObject) -> None:
    await call(crib, "add_numbers", {"a": 5, "b": 3})


async def calls_of_the_context(crib: Crib, context: JsonObject) -> None:
    for each in context["toolCalls"]:
        await call(crib, each["name"], each["arguments"])


async def echo_a_schema(crib: Crib, context: JsonObject) -> None:
    focal, echo = sorted(await crib.tools(), key=lambda tool: tool.name != "json_schema_2020_12_tool")
    await call(crib, echo.name, {"schema": focal.input_schema})


async def twice(crib: Crib, context: JsonObject) -> None:
    for _ in range(2):
        await call_everything(crib, context)


def example(tool: Tool) -> JsonObject:
    """Arguments that fit the tools of the suite."""
    kinds: dict[str, Any] = {"string": "x", "integer": 1, "number": 1.5, "boolean": True}
    properties = tool.input_schema.get("properties", {})
    return {name: kinds[properties[name]["type"]] for name in tool.input_schema.get("required", [])}


ACTS: dict[str, Act] = {
    "initialize": list_tools,
    "request-metadata": list_tools,
    "json-schema-ref-no-deref": list_tools,
    "tools_call": add_numbers,
    "http-custom-headers": calls_of_the_context,
    "json-schema-2020-12-preservation": echo_a_schema,
    "auth/authorization-server-migration": twice,
}


def configuration(url: str, scenario: str, context: JsonObject) -> dict[str, Any]:
    """The server's entry."""
    entry: dict[str, Any] = {"type": "http", "url": url}
    if "client_id" in context:
        entry["oauth"] = {"clientId": context["client_id"], "clientSecret": context.get("client_secret")}
    elif scenario == "auth/basic-cimd":
        entry["oauth"] = {"clientId": CLIENT_DOCUMENT}
    if scenario == "elicitation-sep1034-client-defaults":
        entry["toolcrib"] = {"connection": "caller"}
    rules = [{"name": "all", "tools": ["*"], "then": "allow"}]
    return {"mcpServers": {"suite": entry}, "toolcrib": {"policy": {"rules": rules}}}


async def browser(address: str) -> None:
    """Does what a browser does in which the user is logged in already: it follows where it is sent."""
    async with httpx2.AsyncClient(follow_redirects=True) as client:
        await client.get(address)


async def act(config: dict[str, Any], scenario: str, context: JsonObject, state: Path) -> None:
    """Do what the scenario asks for, and log in as often as it takes, within reason."""
    person = Person(show=browser, pasted=None, complain=print, patience=60.0)
    entry = config_from_mapping(config).servers["suite"].resolve()
    for _ in range(MOST_LOGINS):
        async with Crib.open(config, state_dir=state) as crib:
            try:
                [status] = await crib.refresh()
                if status.state == "needs_auth":
                    raise AuthRequiredError("suite", status.reason)
                if status.in_trouble:
                    raise ServerError("suite", status.reason)
                return await ACTS.get(scenario, call_everything)(crib, context)
            except AuthRequiredError:
                pass
        await log_in("suite", entry, Vault(state / "auth"), person)
    raise SystemExit("The server wants one login after the other.")


def main() -> None:
    os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"  # never the user's own
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    if scenario.startswith(NOT_OFFERED):
        raise SystemExit(f"Toolcrib has nothing for {scenario}.")
    with tempfile.TemporaryDirectory() as state:
        try:
            asyncio.run(act(configuration(sys.argv[1], scenario, context), scenario, context, Path(state)))
        except ToolcribError as error:
            raise SystemExit(f"{error} {error.hint}") from error


if __name__ == "__main__":
    main()
