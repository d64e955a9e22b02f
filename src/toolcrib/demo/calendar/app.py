"""The calendar as a server: its tools and its prompt. It has no resources."""

from datetime import UTC, datetime, time, timedelta

from mcp_types import Prompt, PromptArgument, PromptMessage, TextContent

from toolcrib.demo.app import DemoApp, DemoPrompt
from toolcrib.demo.calendar.reading import tools as reading
from toolcrib.demo.calendar.schedule import Span
from toolcrib.demo.calendar.store import CalendarStore, open_store
from toolcrib.demo.calendar.writing import tools as writing
from toolcrib.demo.moments import DEMO_TODAY, day
from toolcrib.demo.toolbox import Toolbox


def _plan(store: CalendarStore, given: dict[str, str]) -> list[PromptMessage]:
    chosen = day(given["day"]) if given.get("day") else DEMO_TODAY
    midnight = datetime.combine(chosen, time(), UTC)
    events = store.between([given["calendar"]], Span(midnight, midnight + timedelta(days=1)))
    lines = "\n".join(
        f"- {event['starts_at'][11:16]} to {event['ends_at'][11:16]}: {event['title']}" for event in events
    )
    text = (
        f"Plan {chosen.isoformat()} for {given['calendar']} (times in UTC). In the calendar:\n"
        f"{lines or 'nothing.'}\n\n"
        "Name conflicts, keep an hour for lunch, and propose two blocks for work that needs quiet."
    )
    return [PromptMessage(role="user", content=TextContent(text=text))]


APP = DemoApp(
    name="calendar",
    title="Calendar",
    instructions=(
        "Calendars of a small team and its meeting room; all times are answered in UTC. It is a "
        "demonstration: its clock stands at Monday 16 March 2026, 09:00 UTC."
    ),
    tools=Toolbox(reading, writing),
    open_store=open_store,
    prompts=(
        DemoPrompt(
            Prompt(
                name="plan_day",
                title="Plan a day",
                description="Plan someone's day around the events in their calendar.",
                arguments=[
                    PromptArgument(name="calendar", description="Id of the calendar.", required=True),
                    PromptArgument(name="day", description="Like 2026-03-17; today if left out."),
                ],
            ),
            _plan,
        ),
    ),
)
