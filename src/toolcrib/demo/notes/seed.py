"""What the notebook holds when it is new."""

from datetime import timedelta

from toolcrib.demo.database import Database
from toolcrib.demo.moments import DEMO_NOW, timestamp

# title, tags, age in days, pinned, body
_NOTES = (
    ("Shop relaunch: decisions", "shop decision", 40, True,
     "# Decisions\n\n- Checkout moves to the new payment provider in March.\n- The old search stays until "
     "filters work.\n- Invoices for business customers come last.\n"),
    ("Meeting with the payment provider", "shop payments meeting", 21, False,
     "Present: Noor, Tomás, Mr Okafor.\n\n- 3-D Secure needs the session cookie on the return address.\n"
     "- Keys must be rotated before the end of the month.\n- Their test system is down on Sunday nights.\n"),
    ("On-call handbook", "operations howto", 90, True,
     "1. Acknowledge in ten minutes.\n2. Say in the channel what customers notice.\n3. Ask for help after "
     "thirty minutes.\n4. Write the review within two days.\n"),
    ("Review: mail queue outage", "operations review email", 19, False,
     "The disk of the relay was full because bounce messages were kept forever.\n\nActions: a quota, alert "
     "at 80 %, and a weekly clean-up.\n"),
    ("Replica lag, how to look", "operations howto database", 60, False,
     "Compare the log position on both sides. If the lag grows while writes are few, look for a long "
     "transaction, then for the nightly export.\n"),
    ("Interview notes: frontend candidate", "hiring meeting", 12, False,
     "Good sense for accessibility; asked how we test with a keyboard only. Wants to work from Porto.\n"),
    ("Loyalty points: open questions", "app loyalty", 25, False,
     "- Do points expire by purchase or by year?\n- What happens with points of a returned order?\n- Who pays"
     " for points in the partner shops?\n"),
    ("Bread that works", "recipe personal", 200, False,
     "500 g flour, 350 g water, 10 g salt, 2 g yeast. Mix in the evening, fold twice, bake in the morning at "
     "240 °C for 40 minutes.\n"),
    ("Books to read", "personal", 150, False,
     "- A history of lighthouses\n- The design of everyday objects\n- Something by Italo Calvino\n"),
    ("Accessibility review: summary", "shop accessibility review", 41, False,
     "Contrast is fine. Keyboard focus is invisible on tiles, the date picker can't be reached, and error "
     "messages of the form are not read out.\n"),
    ("Ideas for the spring campaign", "marketing shop", 8, False,
     "Bundle garden tools with seeds; a voucher for the second order; a quiz on the app's start screen.\n"),
    ("Quarter goals", "goals", 70, True,
     "1. Half as many failed payments.\n2. App rating above 4.5.\n3. No incident longer than an hour.\n"),
    ("Café in Zürich for team days", "personal travel", 30, False,
     "The one behind the station: quiet until eleven, big tables, good Gipfeli.\n"),
    ("Customer interview: garden centre", "shop interview business", 16, False,
     "They order for twelve branches, need one invoice a month and want to see the size of plants in the "
     "filter.\n"),
)  # fmt: skip

_LINKS = ((1, 2), (2, 1), (4, 3), (5, 3), (10, 1), (14, 1), (7, 12))


def fill(database: Database) -> None:
    """Put notes, tags and links into new tables."""
    for number, (title, tags, age, pinned, body) in enumerate(_NOTES, 1):
        created, updated = DEMO_NOW - timedelta(days=age), DEMO_NOW - timedelta(days=age // 3)
        database.insert(
            "notes",
            "id, title, body, pinned, created_at, updated_at",
            [(number, title, body, pinned, timestamp(created), timestamp(updated))],
        )
        database.insert("words", "rowid, title, body", [(number, title, body)])
        database.insert("tags", "note, tag", [(number, tag) for tag in tags.split()])
    database.insert("links", "source, target", _LINKS)
