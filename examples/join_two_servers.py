"""Code mode: a script that joins what two servers know, so that the model reads the answer alone.

Who works on what, and has which dates on Monday? The script asks the tracker and the calendar, many calls at once, and
what it loops over never enters the conversation. A model writes such a script itself, as the `code` of `run_code`.
Run it with: python examples/join_two_servers.py
"""

import asyncio

from toolcrib import Crib
from toolcrib.demo import demo_config

SCRIPT = """
import asyncio

people = (await tickets.list_people())["people"]
calendars = {each["id"] for each in (await calendar.list_calendars())["calendars"]}


async def look(person):
    name = person["username"]
    if name not in calendars:
        return None
    work, dates = await asyncio.gather(
        tickets.search_tickets(assignee=name, status=["in_progress", "blocked"]),
        calendar.list_events(calendars=[name], from_="2026-03-16T00:00:00Z", to="2026-03-17T00:00:00Z"),
    )
    titles = [event["title"] for event in dates["events"]]
    return {"who": name, "works on": [each["id"] for each in work["tickets"]], "on monday": titles}


[row for row in await asyncio.gather(*(look(person) for person in people)) if row]
"""


async def main() -> None:
    async with Crib.open(demo_config()) as crib:
        await crib.refresh()  # so that the script's names are known, on a first run too
        outcome = await crib.run_code(SCRIPT)
        if not outcome.ok:
            raise SystemExit(str(outcome.fault or outcome.findings))
        for row in outcome.value:
            print(row)
        print(f"{len(outcome.calls)} calls")


if __name__ == "__main__":
    asyncio.run(main())
