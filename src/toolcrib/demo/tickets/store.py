"""The tickets, kept in SQLite."""

from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from toolcrib.demo.database import Database, Row
from toolcrib.demo.faults import DemoError
from toolcrib.demo.moments import DEMO_TODAY
from toolcrib.demo.tickets.seed import fill
from toolcrib.demo.tickets.shapes import CLOSED, PRIORITIES, SUMMARY_FIELDS, TICKET_FIELDS, TRANSITIONS

_SCHEMA = (
    "CREATE TABLE people (username TEXT PRIMARY KEY, name TEXT, role TEXT)",
    "CREATE TABLE projects (key TEXT PRIMARY KEY, name TEXT, description TEXT, lead TEXT)",
    "CREATE TABLE tickets (id TEXT PRIMARY KEY, project TEXT, number INTEGER, title TEXT, description TEXT, "
    "type TEXT, status TEXT, priority TEXT, assignee TEXT, reporter TEXT, due_date TEXT, "
    "estimate_hours INTEGER, created_at TEXT, updated_at TEXT)",
    # Numbers of deleted tickets are never given out again.
    "CREATE TABLE numbers (project TEXT PRIMARY KEY, last INTEGER)",
    "CREATE TABLE labels (ticket TEXT, label TEXT, PRIMARY KEY (ticket, label))",
    "CREATE TABLE comments (id INTEGER PRIMARY KEY, ticket TEXT, author TEXT, body TEXT, created_at TEXT)",
    "CREATE TABLE links (source TEXT, kind TEXT, target TEXT, PRIMARY KEY (source, kind, target))",
    "CREATE TABLE changes (ticket TEXT, at TEXT, field TEXT, old TEXT, new TEXT)",
)

_INVERSE = {"blocks": "blocked_by", "duplicates": "duplicated_by", "relates_to": "relates_to"}

_ORDERS = {
    "updated": "updated_at DESC, id",
    "created": "created_at DESC, id",
    "due": "due_date IS NULL, due_date, id",
    "priority": "CASE priority "
    + " ".join(f"WHEN '{name}' THEN {rank}" for rank, name in enumerate(PRIORITIES))
    + " END, updated_at DESC, id",
}


def _seed(database: Database) -> None:
    fill(database)
    database.run("INSERT INTO numbers SELECT project, max(number) FROM tickets GROUP BY project")


@contextmanager
def open_store(directory: Path | None) -> "Generator[TicketStore]":
    """The tickets in a directory, or new ones in memory."""
    with closing(Database(directory and directory / "tickets.db", _SCHEMA, _seed)) as database:
        yield TicketStore(database)


class TicketStore:
    """Projects, people and tickets."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def people(self) -> list[Row]:
        """Every team member with the number of open tickets assigned to them."""
        return self._db.rows(
            "SELECT username, name, role, "
            f"(SELECT count(*) FROM tickets WHERE assignee = username AND {_OPEN}) AS open_tickets "
            "FROM people ORDER BY username"
        )

    def projects(self) -> list[Row]:
        """Every project with the number of its open tickets."""
        return self._db.rows(
            "SELECT key, name, description, lead, "
            f"(SELECT count(*) FROM tickets WHERE project = key AND {_OPEN}) AS open_tickets "
            "FROM projects ORDER BY key"
        )

    def ticket(self, ticket: str) -> Row:
        """One ticket with its labels and links."""
        row = self._row(ticket)
        outward = self._db.rows("SELECT kind, target AS ticket FROM links WHERE source = ?", ticket)
        inward = self._db.rows("SELECT kind, source AS ticket FROM links WHERE target = ?", ticket)
        links = outward + [{"kind": _INVERSE[link["kind"]], "ticket": link["ticket"]} for link in inward]
        links.sort(key=lambda link: (link["kind"], link["ticket"]))
        return {name: row[name] for name in TICKET_FIELDS if name in row} | {
            "labels": self._labels(ticket),
            "links": links,
        }

    def summary(self, ticket: str) -> Row:
        """One ticket in short, with its labels."""
        return self._summarised(self._row(ticket))

    def comments(self, ticket: str) -> list[Row]:
        """The comments of a ticket, oldest first."""
        return self._db.rows(
            "SELECT id, author, body, created_at FROM comments WHERE ticket = ? ORDER BY id",
            ticket,
        )

    def changes(self, ticket: str) -> list[Row]:
        """What happened to a ticket, oldest first."""
        return self._db.rows("SELECT at, field, old, new FROM changes WHERE ticket = ? ORDER BY rowid", ticket)

    def ids(self, beginning: str = "") -> list[str]:
        """Ids of tickets, by project and number."""
        rows = self._db.rows("SELECT id FROM tickets ORDER BY project, number")
        return [row["id"] for row in rows if row["id"].startswith(beginning.upper())]

    def search(self, wanted: dict[str, Any], order: str, limit: int, offset: int) -> tuple[int, list[Row]]:
        """How many tickets fit and one page of them.

        Args:
            wanted: Any of `query` (words that must all occur), `project`, `assignee` ("none": nobody),
                `statuses`, `priorities`, `types`, `labels` (all of them), `due_before`, `updated_since`.
            order: A key of the sort orders: updated, created, due, priority.
            limit: Size of the page.
            offset: Tickets before the page.
        """
        where, values = _conditions(wanted)
        total = self._db.one(f"SELECT count(*) AS n FROM tickets WHERE {where}", *values)["n"]
        rows = self._db.rows(
            f"SELECT * FROM tickets WHERE {where} ORDER BY {_ORDERS[order]} LIMIT ? OFFSET ?",
            *values, limit, offset,
        )  # fmt: skip
        return total, [self._summarised(row) for row in rows]

    def create(self, fields: dict[str, Any], labels: Sequence[str]) -> str:
        """A new ticket; answers its id."""
        self._check_project(fields["project"])
        self._check_people(fields["reporter"], fields["assignee"])
        with self._db.writing():
            number = self._db.one(
                "INSERT INTO numbers VALUES (?, 1) ON CONFLICT (project) DO UPDATE SET last = last + 1 RETURNING last",
                fields["project"],
            )["last"]
            ticket, now = f"{fields['project']}-{number}", self._db.tick()
            row = {**fields, "id": ticket, "number": number, "created_at": now, "updated_at": now}
            self._db.insert("tickets", ", ".join(row), [tuple(row.values())])
            self._db.insert("labels", "ticket, label", [(ticket, label) for label in dict.fromkeys(labels)])
        return ticket

    def update(self, ticket: str, fields: dict[str, Any]) -> list[str]:
        """Set fields of a ticket and record what changed; answers the names of the changed fields."""
        before = self._row(ticket)
        self._check_people(fields.get("assignee"))
        changed = {name: value for name, value in fields.items() if before[name] != value}
        if changed:
            with self._db.writing():
                now = self._db.tick()
                assignments = ", ".join(f"{name} = ?" for name in changed)
                self._db.run(
                    f"UPDATE tickets SET {assignments}, updated_at = ? WHERE id = ?",
                    *changed.values(), now, ticket,
                )  # fmt: skip
                for name, value in changed.items():
                    self._record(ticket, now, name, before[name], value)
        return list(changed)

    def transition(self, ticket: str, status: str, remark: dict[str, str] | None = None) -> str:
        """Move a ticket through the workflow; answers the status it had.

        Args:
            ticket: Its id.
            status: The status to come.
            remark: `author` and `body` of a comment that goes with the move.
        """
        if remark:
            self._check_people(remark["author"])
        before: str = self._row(ticket)["status"]
        if status != before and status not in TRANSITIONS[before]:
            raise DemoError(
                f"{ticket} is {before} and can't become {status}.",
                hint=f"From {before} it can become: {', '.join(TRANSITIONS[before])}.",
            )
        self.update(ticket, {"status": status})
        if remark:
            self.comment(ticket, remark["author"], remark["body"])
        return before

    def comment(self, ticket: str, author: str, body: str) -> Row:
        """Add a comment; answers it."""
        self._row(ticket)
        self._check_people(author)
        with self._db.writing():
            now = self._db.tick()
            self._db.run("UPDATE tickets SET updated_at = ? WHERE id = ?", now, ticket)
            return self._db.one(
                "INSERT INTO comments (ticket, author, body, created_at) VALUES (?, ?, ?, ?) "
                "RETURNING id, author, body, created_at",
                ticket, author, body, now,
            )  # fmt: skip

    def label(self, ticket: str, add: Sequence[str] = (), remove: Sequence[str] = ()) -> list[str]:
        """Add and remove labels; answers the labels that the ticket has then."""
        self._row(ticket)
        before = self._labels(ticket)
        with self._db.writing():
            for each in add:
                self._db.run("INSERT OR IGNORE INTO labels VALUES (?, ?)", ticket, each)
            for each in remove:
                self._db.run("DELETE FROM labels WHERE ticket = ? AND label = ?", ticket, each)
            after = self._labels(ticket)
            if after != before:
                now = self._db.tick()
                self._record(ticket, now, "labels", " ".join(before), " ".join(after))
                self._db.run("UPDATE tickets SET updated_at = ? WHERE id = ?", now, ticket)
        return after

    def link(self, source: str, kind: str, target: str) -> None:
        """Link two tickets; linking them again changes nothing."""
        self._row(source)
        self._row(target)
        if source == target:
            raise DemoError(f"{source} can't be linked to itself.")
        with self._db.writing():
            self._db.run("INSERT OR IGNORE INTO links VALUES (?, ?, ?)", source, kind, target)

    def delete(self, ticket: str) -> None:
        """Remove a ticket and everything that belongs to it."""
        self._row(ticket)
        with self._db.writing():
            self._db.run("DELETE FROM tickets WHERE id = ?", ticket)
            for table in ("labels", "comments", "changes"):
                self._db.run(f"DELETE FROM {table} WHERE ticket = ?", ticket)
            self._db.run("DELETE FROM links WHERE ? IN (source, target)", ticket)

    def counts(self, group_by: str, project: str | None) -> list[Row]:
        """Open, overdue and closed tickets and the open hours of estimate, by group."""
        if project is not None:
            self._check_project(project)
        column = "label" if group_by == "label" else group_by
        source = "tickets JOIN labels ON ticket = id" if group_by == "label" else "tickets"
        return self._db.rows(
            f"SELECT coalesce({column}, 'none') AS value, sum({_OPEN}) AS open, "
            f"sum({_OPEN} AND due_date IS NOT NULL AND due_date < ?) AS overdue, sum(NOT {_OPEN}) AS closed, "
            f"sum(CASE WHEN {_OPEN} THEN coalesce(estimate_hours, 0) ELSE 0 END) AS open_hours "
            f"FROM {source} WHERE ? IN (project, '') GROUP BY 1 ORDER BY open DESC, value",
            DEMO_TODAY.isoformat(), project or "",
        )  # fmt: skip

    def _row(self, ticket: str) -> Row:
        row = self._db.first("SELECT * FROM tickets WHERE id = ?", ticket)
        if row is None:
            raise DemoError(f"There is no ticket {ticket}.", hint="search_tickets finds tickets by their words.")
        return row

    def _labels(self, ticket: str) -> list[str]:
        rows = self._db.rows("SELECT label FROM labels WHERE ticket = ? ORDER BY label", ticket)
        return [row["label"] for row in rows]

    def _summarised(self, row: Row) -> Row:
        row = {**row, "labels": self._labels(row["id"])}
        return {name: row[name] for name in SUMMARY_FIELDS}

    def _record(self, ticket: str, now: str, field: str, old: object, new: object) -> None:
        values = (ticket, now, field, _shown(old), _shown(new))
        self._db.run("INSERT INTO changes VALUES (?, ?, ?, ?, ?)", *values)

    def _check_project(self, project: str) -> None:
        keys = [row["key"] for row in self._db.rows("SELECT key FROM projects ORDER BY key")]
        if project not in keys:
            raise DemoError(f"There is no project {project}.", hint=f"The projects are {', '.join(keys)}.")

    def _check_people(self, *usernames: str | None) -> None:
        known = [row["username"] for row in self._db.rows("SELECT username FROM people ORDER BY username")]
        for username in usernames:
            if username is not None and username not in known:
                raise DemoError(f"There is no team member {username}.", hint=f"The team is {', '.join(known)}.")


_OPEN = f"(status NOT IN ('{CLOSED[0]}', '{CLOSED[1]}'))"


def _conditions(wanted: dict[str, Any]) -> tuple[str, list[object]]:
    where, values = ["1"], list[object]()
    for word in wanted.get("query", "").split():
        where.append(
            "(title LIKE ? ESCAPE '\\' OR description LIKE ? ESCAPE '\\' OR "
            "id IN (SELECT ticket FROM labels WHERE label LIKE ? ESCAPE '\\') OR "
            "id IN (SELECT ticket FROM comments WHERE body LIKE ? ESCAPE '\\'))"
        )
        values += ["%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"] * 4
    for name, condition in (
        ("project", "project = ?"),
        ("assignee", "coalesce(assignee, 'none') = ?"),
        ("due_before", "due_date < ?"),
        ("updated_since", "updated_at >= ?"),
    ):
        if name in wanted:
            where.append(condition)
            values.append(wanted[name])
    for name, column in (("statuses", "status"), ("priorities", "priority"), ("types", "type")):
        if name in wanted:
            where.append(f"{column} IN ({', '.join('?' * len(wanted[name]))})")
            values += wanted[name]
    for label in wanted.get("labels", ()):
        where.append("id IN (SELECT ticket FROM labels WHERE label = ?)")
        values.append(label)
    return " AND ".join(where), values


def _shown(value: object) -> str | None:
    return None if value is None else str(value)
