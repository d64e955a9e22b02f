"""What the file library holds when it is new: papers, tables, settings and logs of a small harbour shop."""

import json
import random
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

from toolcrib.demo.database import Database
from toolcrib.demo.files.canvas import Canvas
from toolcrib.demo.moments import DEMO_NOW, timestamp

_README = """# The library

- `docs/` papers of the team
- `data/` tables as CSV
- `config/` settings of the shop
- `logs/` the harbour's log of the quarter, and the lighthouse's, one file a week
- `images/` pictures
"""

_STYLE_GUIDE = """# How we write

Short sentences. One word for one thing. Say what happened and what to do.
Dates look like 2026-03-16, amounts like 12.50 EUR. We say "basket", never "cart".
"""

_CHECKLIST = """# Release checklist

1. All tests are green.
2. The change log names every change that customers notice.
3. Support knows the date.
4. The old version can be restored within ten minutes.
5. Someone watches the payments for an hour.
"""

_TODO = "call the plumber\nreturn the library books\nbuy 350 g of flour\n"

_SETTINGS = {
    "shop": {"name": "Harbour shop", "currency": "EUR", "languages": ["en", "de", "pt"]},
    "checkout": {"guest": True, "timeout_minutes": 20, "payments": ["card", "invoice"]},
    "search": {"minimum_letters": 3, "cache_seconds": 300},
}

_SHIPS = ("Aurora", "Bluebell", "Cormorant", "Dagny", "Esperança", "Fulmar", "Gannet", "Halcyon")
_CARGOES = ("timber", "grain", "containers", "salt", "machines", "nothing")
_PORTS = ("Bergen", "Porto", "Gdynia", "Cork")
_WEATHER = ("calm", "fog, visibility 300 m", "wind north-west 6", "rain", "clear, swell 1.5 m")


def fill(database: Database) -> None:
    """Put the files into the new table."""
    documents = {
        "readme.md": _README,
        "docs/style-guide.md": _STYLE_GUIDE,
        "docs/release-checklist.md": _CHECKLIST,
        "docs/todo.txt": _TODO,
        "data/sales-2025.csv": _sales(),
        "data/visitors-2026-02.csv": _visitors(),
        "config/shop.json": json.dumps(_SETTINGS, ensure_ascii=False, indent=2) + "\n",
        "images/harbour-flag.png": _flag(),
        "logs/harbour-2026-q1.log": _log(77, DEMO_NOW - timedelta(days=77), _harbour_entry),
        **{f"logs/lighthouse-2026-w{week:02}.log": _log(7, _monday(week), _lighthouse_entry) for week in range(7, 12)},
    }
    database.insert(
        "files",
        "path, content, modified_at",
        [
            (path, content if isinstance(content, bytes) else content.encode(), timestamp(DEMO_NOW - age))
            for age, (path, content) in zip(_ages(), documents.items(), strict=True)
        ],
    )


def _ages() -> list[timedelta]:
    return [timedelta(days=days) for days in (300, 210, 95, 4, 70, 15, 33, 400, 0, 28, 21, 14, 7, 0)]


def _sales() -> str:
    chance = random.Random(2025)
    lines = ["month,region,orders,revenue_eur,returns"]
    for month in range(1, 13):
        for region, size in (("north", 420), ("south", 310), ("islands", 90)):
            orders = round(size * (1 + 0.3 * (month in (4, 5, 12))) * chance.uniform(0.85, 1.15))
            revenue = orders * chance.uniform(38, 55)
            lines.append(f"2025-{month:02},{region},{orders},{revenue:.2f},{round(orders * 0.06)}")
    return "\n".join(lines) + "\n"


def _visitors() -> str:
    chance = random.Random(2)
    days = [f"2026-02-{day:02},{chance.randint(180, 420)},{chance.randint(8, 40)}" for day in range(1, 29)]
    return "\n".join(["day,visitors,orders", *days]) + "\n"


def _monday(week: int) -> datetime:
    return datetime.combine(date.fromisocalendar(2026, week, 1), time(), UTC)


def _log(days: int, first: datetime, entry: Callable[[random.Random], str]) -> str:
    """Eleven entries a day: about 5 kB a week, about 60 kB for the quarter."""
    chance = random.Random(first.toordinal())
    lines: list[str] = []
    for day in range(days):
        at = first.replace(hour=0) + timedelta(days=day)
        for _ in range(11):
            at += timedelta(minutes=chance.randint(50, 130))
            lines.append(f"{timestamp(at)} {entry(chance)}")
    return "\n".join(lines) + "\n"


def _harbour_entry(chance: random.Random) -> str:
    ship, berth = chance.choice(_SHIPS), chance.randint(1, 6)
    arrival = f"arrival   {ship}, berth {berth}, {chance.choice(_CARGOES)}, draught {chance.uniform(3, 9):.1f} m"
    departure = f"departure {ship}, berth {berth}, bound for {chance.choice(_PORTS)}"
    repair = f"repair    crane {berth}, {chance.choice(('in order again', 'waits for a spare part'))}"
    return chance.choice((arrival, arrival, departure, departure, repair))


def _lighthouse_entry(chance: random.Random) -> str:
    weather = f"weather   {chance.choice(_WEATHER)}, barometer {chance.randint(985, 1030)} hPa"
    lamp = f"light     lamp {chance.randint(1, 3)} {chance.choice(('in order', 'bulb replaced'))}"
    return chance.choice((weather, weather, lamp))


def _flag() -> bytes:
    canvas = Canvas(160, 100, (46, 98, 166))
    canvas.fill(0, 40, 160, 20, (255, 255, 255))
    canvas.fill(50, 0, 20, 100, (255, 255, 255))
    return canvas.png()
