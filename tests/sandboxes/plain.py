"""25 plain scripts, of the kind that models write to chain tools: one idea each.

`issues.list(page)` gives five a page, three pages; `issues.get(id)` fails for 7; `notes.add(text)` counts.
"""

SCRIPTS = {
    "pages": """
found, page = [], 1
while True:
    batch = await issues.list(page=page)
    if not batch:
        break
    found.extend(batch)
    page += 1
print(len(found), "issues")
[issue["id"] for issue in found if issue["state"] == "open"]
""",
    "gather": """
import asyncio
results = await asyncio.gather(*[issues.get(id=i) for i in range(1, 6)])
{r["title"]: r["points"] for r in results}
""",
    "statistics": """
import statistics
points = [i["points"] for i in await issues.list(page=1)]
print(statistics.mean(points), statistics.median(points))
round(statistics.stdev(points), 3)
""",
    "csv in memory": """
import csv, io
buffer = io.StringIO("id,name\\n1,Ann\\n2,Bob\\n")
rows = list(csv.reader(buffer))
rows[1:]
""",
    "errors kept by gather": """
import asyncio
results = await asyncio.gather(*[issues.get(id=i) for i in (6, 7, 8)], return_exceptions=True)
["failed" if isinstance(r, Exception) else r["id"] for r in results]
""",
    "first that fits": """
batch = await issues.list(page=1)
found = next((i for i in batch if i["points"] > 3), None)
missing = next((i for i in batch if i["points"] > 300), None)
(found["id"], missing)
""",
    "deleting": """
issue = await issues.get(id=1)
del issue["points"]
numbers = [1, 2, 3, 4]
del numbers[0]
del numbers[1:]
sorted(issue), numbers
""",
    "a semaphore": """
import asyncio
limit = asyncio.Semaphore(2)
async def fetch(i):
    async with limit:
        return (await issues.get(id=i))["points"]
await asyncio.gather(*[fetch(i) for i in range(1, 5)])
""",
    "sorting": """
batch = await issues.list(page=1)
batch.sort(key=lambda issue: (-issue["points"], issue["title"]))
[issue["id"] for issue in batch][:3]
""",
    "counting": """
from collections import Counter, defaultdict
batch = await issues.list(page=1) + await issues.list(page=2)
by_state = defaultdict(list)
for issue in batch:
    by_state[issue["state"]].append(issue["id"])
Counter(i["state"] for i in batch).most_common(), dict(by_state)
""",
    "a tool that fails": """
done, failed = [], []
for i in range(5, 9):
    try:
        issue = await issues.get(id=i)
        done.append(issue["id"])
    except ToolError as error:
        failed.append((i, error.message, error.data))
        print(f"issue {i}: {error.message} {error.data['retry']}")
    finally:
        print("tried", i)
done, failed
""",
    "retrying": """
import asyncio
async def patient(i, times=3):
    for attempt in range(times):
        try:
            return await issues.get(id=i)
        except ToolError as e:
            if attempt == times - 1:
                return {"id": i, "error": str(e)}
            await asyncio.sleep(0.01)
await patient(7)
""",
    "dates": """
from datetime import datetime, timedelta
day = datetime.strptime("2026-03-01", "%Y-%m-%d")
week = [(day + timedelta(days=n)).strftime("%d.%m.") for n in range(3)]
week
""",
    "text": """
import re
text = "Fix #12, see #34 and #12"
ids = sorted({int(m) for m in re.findall(r"#(\\d+)", text)})
re.sub(r"#(\\d+)", lambda m: f"[{m.group(1)}]", text), ids
""",
    "json": """
import json
issue = await issues.get(id=2)
text = json.dumps(issue, sort_keys=True, indent=1)
json.loads(text) == issue, text.splitlines()[1].strip()
""",
    "a main function": """
import asyncio
async def main():
    batch = await issues.list(page=1)
    return sum(issue["points"] for issue in batch)
asyncio.run(main())
""",
    "a guarded main function": """
import asyncio
async def main() -> int:
    return len(await issues.list(page=2))
if __name__ == "__main__":
    asyncio.run(main())
""",
    "a class": """
class Board:
    def __init__(self, name):
        self.name = name
        self.items = []
    def add(self, issue):
        self.items.append(issue["id"])
        return self
    def __repr__(self):
        return f"Board({self.name}, {self.items})"
board = Board("x")
for issue in await issues.list(page=1):
    board.add(issue)
repr(board)
""",
    "a dataclass": """
from dataclasses import dataclass, field
@dataclass
class Total:
    points: int = 0
    titles: list = field(default_factory=list)
total = Total()
for issue in await issues.list(page=1):
    total.points += issue["points"]
    total.titles.append(issue["title"][:1])
total.points, total.titles
""",
    "tables": """
rows = [(i["id"], i["title"], i["points"]) for i in await issues.list(page=1)]
print(f"{'id':>3} | {'title':<10} | points")
for number, title, points in rows:
    print(f"{number:>3} | {title:<10} | {points:6.1f}")
len(rows)
""",
    "matching": """
def kind(value):
    match value:
        case {"state": "open", "points": p} if p > 3:
            return "large"
        case {"state": "open"}:
            return "small"
        case _:
            return "closed"
[kind(i) for i in await issues.list(page=1)]
""",
    "methods as keys": """
titles = [i["title"] for i in await issues.list(page=1)]
points = {i["id"]: i["points"] for i in await issues.list(page=1)}
sorted(titles, key=str.lower, reverse=True)[0], max(points, key=points.get)
""",
    "types that are only said": """
from __future__ import annotations
from typing import Any, TypedDict, cast
from collections.abc import Iterable
class Issue(TypedDict, total=False):
    id: int
def ids(batch: Iterable[Issue]) -> list[int]:
    return [issue["id"] for issue in batch]
ids(cast(list[Issue], await issues.list(page=3)))
""",
    "tasks": """
import asyncio
first = asyncio.create_task(issues.get(id=1))
second = asyncio.create_task(issues.get(id=2))
a = await first
b = await asyncio.wait_for(second, timeout=5)
a["id"] + b["id"]
""",
    "joins": """
import itertools, operator, heapq
from functools import reduce
batch = await issues.list(page=1)
batch.sort(key=operator.itemgetter("state"))
groups = {k: [i["id"] for i in g] for k, g in itertools.groupby(batch, key=lambda i: i["state"])}
total = reduce(lambda a, b: a + b["points"], batch, 0)
await notes.add(text=f"{total} points")
groups, total, heapq.nlargest(2, [i["points"] for i in batch])
""",
}
