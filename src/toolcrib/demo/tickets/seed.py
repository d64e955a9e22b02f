"""What the ticket tracker holds when it is new: a small team in the middle of a quarter."""

from datetime import timedelta

from toolcrib.demo.database import Database
from toolcrib.demo.moments import DEMO_NOW, DEMO_TODAY, timestamp

_PEOPLE = (
    ("noor", "Noor Haddad", "Engineering lead"),
    ("tomas", "Tomás Vidal", "Backend engineer"),
    ("ines", "Inês Carvalho", "Frontend engineer"),
    ("kofi", "Kofi Mensah", "Mobile engineer"),
    ("yuki", "Yuki Tanaka", "Support and quality"),
)

_PROJECTS = (
    ("WEB", "Web shop", "The public shop: catalogue, basket, checkout and customer account.", "ines"),
    ("APP", "Mobile app", "The iOS and Android app for orders and loyalty points.", "kofi"),
    ("OPS", "Operations", "Hosting, deployments, monitoring and on-call work.", "tomas"),
)

_Ticket = tuple[str, str, str, str, str | None, str, int | None, int | None, int, str, str, str]

# id, type, status, priority, assignee, reporter, due in days, estimate in hours, age in days, labels, title,
# description
_TICKETS: tuple[_Ticket, ...] = (
    ("WEB-1", "bug", "in_progress", "urgent", "ines", "yuki", 1, 6, 4, "checkout payments",
     "Checkout fails for cards that need 3-D Secure",
     "The bank's confirmation page opens, but afterwards the basket is empty and no order exists."),
    ("WEB-2", "feature", "todo", "high", "ines", "noor", 9, 16, 20, "catalogue search",
     "Filter the catalogue by size and colour", "Filters combine; the address bar keeps them."),
    ("WEB-3", "bug", "in_review", "medium", "tomas", "yuki", 3, 3, 8, "email",
     "Order confirmation e-mail shows prices without tax", "Business customers only, since March."),
    ("WEB-4", "task", "backlog", "low", None, "ines", None, 8, 41, "accessibility",
     "Keyboard focus is invisible on product tiles", "Found in the accessibility review."),
    ("WEB-5", "bug", "todo", "high", None, "yuki", -2, 4, 12, "search performance",
     "Search takes eight seconds for two-letter words", "Only for guests; the cache is skipped."),
    ("WEB-6", "feature", "blocked", "medium", "ines", "noor", 14, 24, 30, "payments",
     "Pay by invoice for business customers", "Waits for the credit check service (OPS-3)."),
    ("WEB-7", "bug", "done", "medium", "tomas", "yuki", -6, 2, 15, "checkout",
     "Voucher can be redeemed twice", "Two tabs, same voucher, both orders went through."),
    ("WEB-8", "task", "wont_do", "low", None, "noor", None, None, 60, "",
     "Translate the legal pages to Latin", "An April joke that got a ticket."),
    ("WEB-9", "bug", "backlog", "medium", None, "yuki", None, 3, 6, "catalogue images",
     "Product pictures are blurred on large screens", "The thumbnails are scaled up."),
    ("APP-1", "bug", "in_progress", "high", "kofi", "yuki", 2, 5, 5, "crash android",
     "App crashes when the camera permission is refused", "Android 15, barcode scanner."),
    ("APP-2", "feature", "in_progress", "medium", "kofi", "noor", 11, 20, 25, "loyalty",
     "Show loyalty points on the start screen", "With the date at which the next points expire."),
    ("APP-3", "feature", "backlog", "low", None, "kofi", None, 12, 33, "accessibility",
     "Dark mode", "Follow the system's setting."),
    ("APP-4", "bug", "todo", "urgent", "kofi", "yuki", -1, 4, 3, "login crash",
     "Login loop after a password reset", "The old token is kept and refused forever."),
    ("APP-5", "task", "done", "medium", "kofi", "kofi", -10, 6, 28, "ci",
     "Build the app in the pipeline", "Signed builds for both platforms."),
    ("APP-6", "bug", "backlog", "low", None, "yuki", None, 1, 9, "translation",
     "Delivery date is cut off in German", "'voraussichtlich' is longer than the label."),
    ("OPS-1", "incident", "in_progress", "urgent", "tomas", "tomas", 0, 3, 1, "database outage",
     "Database replica lags by more than ten minutes", "Since 06:40 UTC; reports show old figures."),
    ("OPS-2", "task", "todo", "high", "tomas", "noor", 5, 8, 18, "security",
     "Rotate the payment provider's keys", "Both environments; the old keys end with the month."),
    ("OPS-3", "feature", "in_review", "medium", "tomas", "noor", 7, 30, 35, "payments",
     "Credit check service", "Needed for payment by invoice."),
    ("OPS-4", "task", "backlog", "medium", None, "tomas", None, 16, 50, "monitoring",
     "Alerts that name the customer impact", "Today they name hosts."),
    ("OPS-5", "incident", "done", "high", "tomas", "yuki", -20, 5, 22, "outage email",
     "Mail queue stopped for three hours", "The disk of the relay was full."),
)  # fmt: skip

_COMMENTS = (
    ("WEB-1", "yuki", 3, "Four customers reported it since Friday, all with the same bank."),
    ("WEB-1", "ines", 1, "The return address loses the session cookie. A fix is in progress."),
    ("WEB-5", "tomas", 7, "Two-letter words skip the index, so every product is read."),
    ("WEB-6", "noor", 2, "Legal agreed to the wording of the payment terms."),
    ("APP-4", "kofi", 2, "Reproduced on both platforms."),
    ("OPS-1", "tomas", 0, "Stopped the nightly export; the lag shrinks by a minute every five."),
    ("OPS-3", "noor", 4, "Please add the limit per customer before it goes live."),
)

_LINKS = (("OPS-3", "blocks", "WEB-6"), ("WEB-9", "relates_to", "WEB-4"), ("OPS-1", "relates_to", "WEB-5"))


def fill(database: Database) -> None:
    """Put people, projects, tickets, comments and links into new tables."""
    database.insert("people", "username, name, role", _PEOPLE)
    database.insert("projects", "key, name, description, lead", _PROJECTS)
    for (
        ticket, kind, status, priority, assignee, reporter, due, estimate, age, labels, title, description,
    ) in _TICKETS:  # fmt: skip
        project, number = ticket.split("-")
        database.insert(
            "tickets",
            "id, project, number, title, description, type, status, priority, assignee, reporter, due_date, "
            "estimate_hours, created_at, updated_at",
            [(
                ticket, project, int(number), title, description, kind, status, priority, assignee, reporter,
                None if due is None else (DEMO_TODAY + timedelta(days=due)).isoformat(),
                estimate, _days_ago(age), _days_ago(age // 2),
            )],
        )  # fmt: skip
        database.insert("labels", "ticket, label", [(ticket, label) for label in labels.split()])
    database.insert(
        "comments",
        "ticket, author, body, created_at",
        [(ticket, author, body, _days_ago(age)) for ticket, author, age, body in _COMMENTS],
    )
    database.insert("links", "source, kind, target", _LINKS)


def _days_ago(days: int) -> str:
    return timestamp(DEMO_NOW - timedelta(days=days, minutes=30))
