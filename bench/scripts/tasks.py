"""Twenty tasks over the demo servers, each with what a model would search for and the script that it would write.

They are of the kinds for which one writes a script at all: chains, joins across servers, loops over pages, fan-out,
errors to go on after, and filters over much text.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        name: What it is.
        needs: What is searched for first, one a line.
        code: The script.
        before: A script that makes what the task is about; not counted.
    """

    name: str
    needs: str
    code: str
    before: str = ""


TASKS = [
    Task(
        "open tickets by project and priority",
        "list projects\nsearch tickets",
        """
table = {}
for project in (await tickets.list_projects())["projects"]:
    found = await tickets.search_tickets(project=project["key"], status=["todo", "in_progress"], limit=50)
    counts = {}
    for ticket in found["tickets"]:
        counts[ticket["priority"]] = counts.get(ticket["priority"], 0) + 1
    table[project["key"]] = counts
table
""",
    ),
    Task(
        "every ticket, page by page",
        "search tickets",
        """
ids, offset = [], 0
while True:
    page = (await tickets.search_tickets(limit=10, offset=offset))["tickets"]
    ids += [ticket["id"] for ticket in page]
    if len(page) < 10:
        break
    offset += 10
len(ids)
""",
    ),
    Task(
        "who has commented most",
        "search tickets\nget a ticket with comments",
        """
import asyncio
page = (await tickets.search_tickets(limit=40))["tickets"]
whole = await asyncio.gather(*[tickets.get_ticket(ticket=t["id"], include_comments=True) for t in page])
authors = {}
for ticket in whole:
    for comment in ticket.get("comments") or []:
        authors[comment["author"]] = authors.get(comment["author"], 0) + 1
sorted(authors.items(), key=lambda row: -row[1])[:3]
""",
    ),
    Task(
        "overdue tickets with their assignees' names",
        "search tickets due before a date\nlist people",
        """
people = {p["username"]: p["name"] for p in (await tickets.list_people())["people"]}
late = (await tickets.search_tickets(due_before="2026-03-16", limit=50))["tickets"]
for ticket in late[:10]:
    print(ticket["id"], ticket["due_date"], people.get(ticket["assignee"], "nobody"))
len(late)
""",
    ),
    Task(
        "tickets that are mentioned in notes",
        "search tickets\nexport notes",
        """
import re
text = str(await notes.export_notes(format="markdown"))
found = (await tickets.search_tickets(limit=50))["tickets"]
[t["id"] for t in found if re.search(re.escape(t["id"]) + r"\\b", text)]
""",
    ),
    Task(
        "the longest notes",
        "list notes\nread a note",
        """
import asyncio
listed = (await notes.list_notes(limit=50))["notes"]
whole = await asyncio.gather(*[notes.get_note(note=n["id"]) for n in listed])
[(n["title"], len(n["body"])) for n in sorted(whole, key=lambda n: -len(n["body"]))[:3]]
""",
    ),
    Task(
        "notes that nothing links to",
        "list notes\nlinked notes",
        """
import asyncio
listed = (await notes.list_notes(limit=50))["notes"]
links = await asyncio.gather(*[notes.get_linked_notes(note=n["id"]) for n in listed])
[n["title"] for n, found in zip(listed, links) if not found["backlinks"]]
""",
    ),
    Task(
        "the words that are written under each tag",
        "list tags\nlist notes with a tag\nread a note",
        """
import asyncio
words = {}
for each in (await notes.list_tags())["tags"][:6]:
    listed = (await notes.list_notes(tag=each["tag"]))["notes"]
    whole = await asyncio.gather(*[notes.get_note(note=n["id"]) for n in listed])
    words[each["tag"]] = sum(len(n["body"].split()) for n in whole)
words
""",
    ),
    Task(
        "who answered which invitations",
        "list events\nget an event",
        """
import asyncio
listed = (await calendar.list_events(from_="2026-03-01T00:00:00Z", to="2026-04-01T00:00:00Z"))["events"]
names = list(dict.fromkeys(e["event"] for e in listed))[:30]
events = await asyncio.gather(*[calendar.get_event(event=name) for name in names])
answers = {}
for event in events:
    for person in event["attendees"]:
        answers.setdefault(person["response"], set()).add(person["email"])
{answer: len(people) for answer, people in answers.items()}
""",
    ),
    Task(
        "who is asked to be in two places at once",
        "find conflicts in calendars\nget an event",
        """
import asyncio
found = (await calendar.find_conflicts(from_="2026-03-01T00:00:00Z", to="2026-04-01T00:00:00Z"))["conflicts"]
names = list(dict.fromkeys(name for each in found for name in (each["first"], each["second"])))[:40]
events = await asyncio.gather(*[calendar.get_event(event=name) for name in names])
people = {name: {a["email"] for a in event["attendees"]} for name, event in zip(names, events)}
torn = {}
for each in found:
    for email in people.get(each["first"], set()) & people.get(each["second"], set()):
        torn[email] = torn.get(email, 0) + 1
sorted(torn.items(), key=lambda row: -row[1])[:5]
""",
    ),
    Task(
        "the first hour in which each pair is free",
        "list calendars\nfind a free slot",
        """
import itertools
names = [c["id"] for c in (await calendar.list_calendars())["calendars"]][:5]
first = {}
for pair in itertools.combinations(names, 2):
    found = await calendar.find_free_slots(
        calendars=list(pair), from_="2026-03-16T09:00:00Z", to="2026-03-20T17:00:00Z", duration_minutes=60, limit=1
    )
    slots = found["slots"]
    first[" ".join(pair)] = slots[0]["starts_at"] if slots else None
first
""",
    ),
    Task(
        "days on which much is due and much is planned",
        "list events\nsearch tickets due before a date",
        """
listed = (await calendar.list_events(from_="2026-03-01T00:00:00Z", to="2026-04-01T00:00:00Z"))["events"]
planned, due = {}, {}
for event in listed:
    day = event["starts_at"][:10]
    planned[day] = planned.get(day, 0) + 1
for ticket in (await tickets.search_tickets(due_before="2026-04-01", limit=50))["tickets"]:
    due[ticket["due_date"]] = due.get(ticket["due_date"], 0) + 1
sorted(((count, planned[day], day) for day, count in due.items() if day in planned), reverse=True)[:3]
""",
    ),
    Task(
        "the largest files and their checksums",
        "list files\nchecksums of files",
        """
listed = sorted((await files.list_files())["files"], key=lambda f: -f["bytes"])[:5]
sums = (await files.get_checksums(paths=[f["path"] for f in listed]))["checksums"]
[(f["path"], f["bytes"], sums[f["path"]][:8]) for f in listed]
""",
    ),
    Task(
        "how often each log warns",
        "list files\nread a file",
        """
import asyncio
paths = [f["path"] for f in (await files.list_files(folder="logs"))["files"]]
texts = await asyncio.gather(*[files.read_file(path=path) for path in paths])
{path: str(text).count("WARN") for path, text in zip(paths, texts)}
""",
    ),
    Task(
        "where each word is found",
        "search text in files",
        """
found = {}
for word in ("shop", "order", "price", "error", "total"):
    answer = await files.search_files(text=word, limit=500)
    found[word] = (answer["total"], len({match["path"] for match in answer["matches"]}))
found
""",
    ),
    Task(
        "every ticket in review is moved on as far as it may go",
        "search tickets\nchange the status of a ticket",
        """
moved, refused = [], 0
for ticket in (await tickets.search_tickets(status=["in_review", "blocked", "in_progress"], limit=50))["tickets"]:
    for status in ("done", "in_review", "in_progress"):
        try:
            await tickets.transition_ticket(ticket=ticket["id"], status=status)
        except ToolError:
            refused += 1
        else:
            moved.append(ticket["id"] + " " + status)
            break
(len(moved), refused, moved[:3])
""",
    ),
    Task(
        "one note about each project",
        "list projects\ncreate a note",
        """
made = []
for project in (await tickets.list_projects())["projects"]:
    note = await notes.create_note(title=project["name"], body=f"{project['open_tickets']} open", tags=["projects"])
    made.append(note["id"])
made
""",
    ),
    Task(
        "labels for what has waited long",
        "search tickets\nadd labels to a ticket",
        """
found = (await tickets.search_tickets(status=["backlog"], sort="created", limit=50))["tickets"]
old = [t for t in found if t["updated_at"] < "2026-03-15"]
for ticket in old:
    await tickets.add_labels(ticket=ticket["id"], labels=["stale"])
len(old)
""",
    ),
    Task(
        "tickets that can't be found are left out",
        "get a ticket",
        """
known, missing = [], []
for number in range(1, 31):
    try:
        ticket = await tickets.get_ticket(ticket=f"WEB-{number}")
        known.append((ticket["id"], ticket["status"]))
    except ToolError:
        missing.append(number)
(len(known), missing[:3])
""",
    ),
    Task(
        "the lines that matter among five megabytes of notes",
        "export notes",
        """
blocks = await notes.export_notes(format="markdown")
text = "".join(block["resource"]["text"] for block in blocks if block["type"] == "resource")
lines = [line for line in text.splitlines() if "status=503" in line]
(len(text), len(lines), lines[:2])
""",
        before="""
line = "2026-03-16T09:30:00Z gateway answered path=/orders status={} in 120 ms for a customer of the shop"
for number in range(56):
    body = "\\n".join(line.format(503 if place % 997 == number else 200) for place in range(980))
    await notes.create_note(title=f"Log {number}", body=body)
""",
    ),
]
