"""A script that replaces some fifty calls, and the account of it: calls and tokens that the model is spared.

The question: who has reported how many hours of work, and who meets how often in three weeks? A model with plain tools
reads every ticket, one call after another, and each result stays in its context. The script reads them all, and answers
with a few lines. Run it with: python examples/fifty_calls.py
"""

import asyncio
import json
from typing import Any

from toolcrib import Crib, MetaTools, text_of, value_of
from toolcrib.demo import demo_config
from toolcrib.tokens import count_tokens, counter_name

SCRIPT = """
import asyncio

found, offset = [], 0
while offset is not None:
    page = await tickets.search_tickets(limit=10, offset=offset)
    found += [each["id"] for each in page["tickets"]]
    offset = page["next_offset"]

hours = {}
for ticket in await asyncio.gather(*(tickets.get_ticket(ticket=each) for each in found)):
    hours[ticket["reporter"]] = hours.get(ticket["reporter"], 0) + (ticket["estimate_hours"] or 0)
events = await calendar.list_events(from_="2026-03-16T00:00:00Z", to="2026-04-04T00:00:00Z")
meetings = {}
for event in await asyncio.gather(*(calendar.get_event(event=each["event"]) for each in events["events"])):
    for person in event["attendees"]:
        meetings[person["name"]] = meetings.get(person["name"], 0) + 1
asked = {"tickets": found, "events": [each["event"] for each in events["events"]]}
{"hours": hours, "meetings": meetings, "asked": asked}
"""


async def by_hand(tools: MetaTools, found: dict[str, list[str]]) -> tuple[int, int]:
    """The same, call by call as a model would make them: how many calls, and the tokens of calls and results."""
    calls: list[tuple[str, dict[str, Any]]] = [
        *(("tickets.search_tickets", {"limit": 10, "offset": at}) for at in range(0, len(found["tickets"]), 10)),
        *(("tickets.get_ticket", {"ticket": each}) for each in found["tickets"]),
        ("calendar.list_events", {"from": "2026-03-16T00:00:00Z", "to": "2026-04-04T00:00:00Z"}),
        *(("calendar.get_event", {"event": each}) for each in found["events"]),
    ]
    spent = 0
    for name, arguments in calls:
        call = {"name": name, "arguments": arguments}
        spent += count_tokens(json.dumps(call)) + count_tokens(text_of(await tools.call("call_tool", call)))
    return len(calls), spent


async def main() -> None:
    async with Crib.open(demo_config()) as crib:
        await crib.refresh()
        tools = MetaTools(crib)
        # A model writes the script itself, and calls `run_code` with it.
        result = await tools.call("run_code", {"code": SCRIPT})
        if result["isError"]:
            raise SystemExit(text_of(result))
        found = value_of({"content": result["content"][:1]})
        calls, tokens = await by_hand(tools, found["asked"])
        spent = count_tokens(SCRIPT) + count_tokens(text_of(result))
        print("hours:", found["hours"])
        print("meetings:", found["meetings"])
        print(result["content"][-1]["text"])
        print(f"in place of {calls} calls and {tokens:,} tokens: 1 call and {spent:,} tokens ({counter_name()})")
        print(f"saved: {calls - 1} calls, {tokens - spent:,} tokens, {1 - spent / tokens:.0%}")


if __name__ == "__main__":
    asyncio.run(main())
