"""What each surface costs a model: the tokens of a first request in each provider's form, and of a whole task."""

import asyncio
import json
import sys
import tempfile
from argparse import Namespace
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from bench.report import Target, arguments, data_option, emit, read_catalogs
from toolcrib import Crib, LlmClient, LlmConfiguration
from toolcrib.broker import LOCAL
from toolcrib.catalog import NO_CONTEXT, JsonObject, ListMethod, RequestContext, RequestMethod
from toolcrib.llm import Provider, Request, ScriptedProvider, ToolSpec, Traits, use
from toolcrib.llm.messages import user
from toolcrib.llm.naming import provider_by_name
from toolcrib.llm.surfaces import AllTools, DeferredTools, SearchTools, Surface
from toolcrib.schema import example_call
from toolcrib.tokens import count_tokens, counter_name

PROVIDERS = ("anthropic", "openai", "openai-chat", "gemini")
_ANSWER: JsonObject = {"content": [{"type": "text", "text": "done"}]}


@dataclass
class Recorded:
    """A recorded catalog as a source: lists what the server listed, and answers every call alike."""

    id: str
    tools: list[JsonObject]
    description: str = ""
    calls: list[JsonObject] = field(default_factory=list[JsonObject])

    async def ensure(self, context: RequestContext = NO_CONTEXT) -> None:
        """Nothing is to be connected."""

    async def list(self, method: ListMethod, context: RequestContext = NO_CONTEXT) -> list[JsonObject]:
        """What the server listed."""
        return self.tools

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        """The same for every call."""
        self.calls.append(params)
        return _ANSWER


def _surfaces(crib: Crib) -> dict[str, Surface]:
    return {
        "all": AllTools(crib),
        "deferred, full descriptions": DeferredTools(crib),
        "deferred, one line each": DeferredTools(crib, descriptions="line"),
        "search": SearchTools(crib),
    }


def _tokens(provider: Provider, tools: tuple[ToolSpec, ...]) -> int:
    """Tokens of a first request, the question aside."""
    body = provider.payload(Request((user("?"),), tools=tools))
    return count_tokens(json.dumps(body.get("tools", []), ensure_ascii=False, separators=(",", ":")))


async def _first_requests(crib: Crib, providers: dict[str, Provider]) -> dict[str, dict[str, int]]:
    """Tokens of the tools in a first request, by surface and provider."""
    return {
        name: {kind: _tokens(provider, tools) for kind, provider in providers.items()}
        for name, surface in _surfaces(crib).items()
        for tools in [await surface.tools(LOCAL)]
    }


async def _task(crib: Crib) -> dict[str, int]:
    """Tokens of all requests of one task together: a tool is called once, after a mistake where schemas are held
    back."""
    tool = next(each for each in await crib.tools() if each.input_schema.get("required"))
    given = example_call(tool.input_schema)
    name = f"{tool.server}__{tool.name}"
    scripts: dict[str, list[Any]] = {
        "all": [use(name, given), "done"],
        "deferred": [use(name, {}), use(name, given), "done"],
        "search": [
            use("search_tools", {"query": tool.description[:80] or tool.name}),
            use("call_tool", {"name": tool.id, "arguments": given}),
            "done",
        ],
    }
    found: dict[str, int] = {}
    for surface, script in scripts.items():
        provider = ScriptedProvider(script, traits=Traits(window=100_000_000))
        options: dict[str, Any] = {"use_deferred_loading": True} if surface == "deferred" else {"surface": surface}
        client = LlmClient(provider, crib, **options)
        response = await client.chat("Do it.")
        found[surface] = sum(account.total for account in response.accounts)
    return found


async def _of(catalogs: dict[str, dict[str, Any]], state: Path, providers: dict[str, Provider]) -> dict[str, Any]:
    async with Crib.from_clients({}, state_dir=state) as crib:
        for name, catalog in catalogs.items():
            await crib.add_source(Recorded(name.replace("-", "_"), catalog["tools"]))
        first = await _first_requests(crib, providers)
        return {"first": first, "task": await _task(crib) if len(catalogs) > 1 else {}}


async def _measure(options: Namespace) -> dict[str, Any]:
    catalogs = read_catalogs(options.data)
    providers = {
        name: provider_by_name(name, LlmConfiguration(api_key="none", base_url="http://127.0.0.1:9"))
        for name in PROVIDERS
    }
    with tempfile.TemporaryDirectory() as folder:
        together = await _of(catalogs, Path(folder), providers)
        each: dict[str, dict[str, float]] = {}
        for name, catalog in catalogs.items():
            sys.stderr.write(f"{name} …\n")
            first = (await _of({name: catalog}, Path(folder), providers))["first"]
            each[name] = {surface: _saved(first, surface) for surface in first if surface != "all"}
    for provider in providers.values():
        await provider.close()
    figures: dict[str, Any] = {
        "counter": counter_name(),
        "servers": len(catalogs),
        "first request, tokens of the tools": together["first"],
        "one task, tokens of all requests": together["task"],
        "saved in all catalogs together, percent": {
            surface: _saved(together["first"], surface) for surface in together["first"] if surface != "all"
        },
        "saved in one catalog, percent, median": {
            surface: median(row[surface] for row in each.values()) for surface in next(iter(each.values()))
        },
    }
    return {**figures, "each": each} if options.json else figures


def _saved(first: dict[str, dict[str, int]], surface: str) -> float:
    """Percent that a surface saves, the least over the providers."""
    return round(min(100 * (1 - first[surface][kind] / first["all"][kind]) for kind in PROVIDERS), 1)


def _targets(figures: dict[str, Any]) -> list[Target]:
    saved = figures["saved in all catalogs together, percent"]
    wanted = {"search": 98, "deferred, full descriptions": 60, "deferred, one line each": 80}
    return [Target(f"{name}, less than all", saved[name], "%", least, "higher") for name, least in wanted.items()]


def main() -> None:
    parser = arguments("What each surface costs a model.")
    data_option(parser)
    options = parser.parse_args()
    figures = asyncio.run(_measure(options))
    emit("surfaces", figures, _targets(figures), as_json=options.json)


if __name__ == "__main__":
    main()
