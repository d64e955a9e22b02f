"""Tokens that a task brings into a model's context: by calling tools directly, by discovery, and by a script.

Each text is counted once, as it enters. What all requests of the task hold together, each with all that came before, is
given beside it.
"""

from collections.abc import Sequence
from typing import Any

from bench.scripts.tasks import Task
from toolcrib import Crib
from toolcrib.broker import LOCAL, Caller, Options, Outcome
from toolcrib.catalog import JsonObject, RequestMethod, as_sent, definition_tokens
from toolcrib.metatools import MetaTools
from toolcrib.metatools.formatting import compact
from toolcrib.scripts import run_result
from toolcrib.tokens import count_tokens


async def spent(crib: "CountingCrib", task: Task) -> dict[str, Any]:
    """The tokens of a task in each way; the calls are those that its script really makes.

    Args:
        crib: Over the demo servers.
        task: The task.
    """
    tools = MetaTools(crib)
    surface = sum(count_tokens(as_sent(each)) for each in tools.definitions())
    search = await tools.call("search_tools", {"query": task.needs})
    found = count_tokens(compact({"query": task.needs})) + _blocks(search)
    crib.spent = []
    outcome = await crib.run_code(task.code)
    calls = crib.spent
    assert outcome.ok, (task.name, outcome)
    script = count_tokens(compact({"code": task.code})) + _blocks(run_result(outcome))
    definitions = sum(definition_tokens(tool) for tool in await crib.tools())
    direct = definitions + sum(calls)
    code = surface + found + script
    requests = {"direct": _requests(definitions, calls), "code": _requests(surface, [found, script])}
    return {
        "calls": len(calls),
        "direct": direct,
        "discovery": surface + found + sum(calls),
        "code": code,
        "saved_percent": round(100 * (1 - code / direct), 1),
        "saved_percent_of_all_requests": round(100 * (1 - requests["code"] / requests["direct"]), 1),
    }


def _requests(begins: int, added: Sequence[int]) -> int:
    """Tokens of all requests of a conversation that each hold what came before."""
    return sum(begins + sum(added[:place]) for place in range(len(added) + 1))


def _blocks(result: dict[str, Any]) -> int:
    return sum(count_tokens(str(block.get("text", ""))) for block in result["content"])


class CountingCrib(Crib):
    """A crib that keeps the tokens of each call that it is asked to make, with what it comes to, as a model would read
    both."""

    spent: list[int]

    async def request(
        self,
        method: RequestMethod,
        target: str,
        arguments: JsonObject | None = None,
        caller: Caller = LOCAL,
        options: Options | None = None,
    ) -> Outcome:
        """See `Crib.request`."""
        outcome = await super().request(method, target, arguments, caller, options)
        structure = outcome.result.get("structuredContent")
        answer = count_tokens(compact(structure)) if structure is not None else _blocks(outcome.result)
        asked = count_tokens(compact({"name": outcome.call.target, "arguments": outcome.call.arguments}))
        self.spent.append(asked + answer)
        return outcome
