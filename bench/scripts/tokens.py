"""Tokens that a task brings into a model's context: by calling tools directly, by discovery, and by a script.

Each text is counted once, as it enters. What all requests of the task hold together, each with all that came before, is
given beside it. A result that a client would cut counts as much as it leaves: 25,000 tokens, as Claude Code does.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from bench.scripts.tasks import Task
from toolcrib import Crib
from toolcrib.broker import LOCAL, Caller, Options, Outcome
from toolcrib.catalog import JsonObject, RequestMethod, as_sent, definition_tokens
from toolcrib.metatools import MetaTools
from toolcrib.metatools.formatting import compact
from toolcrib.scripts import run_result
from toolcrib.tokens import count_tokens

MOST_RESULT = 25_000
"""Tokens of one result that a client hands to a model."""


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
    if task.before:
        assert (await crib.run_code(task.before)).ok
    crib.spent = []
    outcome = await crib.run_code(task.code)
    calls = [tokens for _, tokens in crib.spent]
    assert outcome.ok, (task.name, outcome)
    script = count_tokens(compact({"code": task.code})) + _blocks(run_result(outcome))
    definitions = sum(definition_tokens(tool) for tool in await crib.tools())
    direct = definitions + sum(calls)
    code = surface + found + script
    requests = {"direct": _requests(definitions, _turns(crib.spent)), "code": _requests(surface, [found, script])}
    return {
        "calls": len(calls),
        "direct": direct,
        "discovery": surface + found + sum(calls),
        "code": code,
        "looked": surface + found,
        "saved_percent": round(100 * (1 - code / direct), 1),
        "saved_percent_of_all_requests": round(100 * (1 - requests["code"] / requests["direct"]), 1),
    }


def _turns(calls: Sequence[tuple[str, int]]) -> list[int]:
    """Tokens that each turn of a model adds that makes calls of one tool after another all in one turn: as few as can
    be, and fewer than where one page tells whether there is another."""
    return [sum(tokens for _, tokens in group) for _, group in groupby(calls, key=lambda call: call[0])]


def _requests(begins: int, added: Sequence[int]) -> int:
    """Tokens of all requests of a conversation that each hold what came before."""
    return sum(begins + sum(added[:place]) for place in range(len(added) + 1))


def _blocks(result: dict[str, Any]) -> int:
    texts = (block.get("text") or block.get("resource", {}).get("text", "") for block in result["content"])
    return sum(map(count_tokens, texts))


class CountingCrib(Crib):
    """A crib that keeps the tokens of each call that it is asked to make, with what it comes to, as a model would read
    both."""

    spent: list[tuple[str, int]]

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
        self.spent.append((outcome.call.target, asked + min(answer, MOST_RESULT)))
        return outcome
