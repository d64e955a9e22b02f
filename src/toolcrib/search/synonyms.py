"""Words that mean much the same in requests and in the descriptions of tools."""

from collections.abc import Iterable
from functools import cache

from toolcrib.search.terms import terms

_CLASSES = """
get fetch retrieve obtain read view lookup load
list enumerate browse index
search query find lookup discover seek
create add new make insert generate build
delete remove erase drop destroy clear purge
update edit modify change set alter patch
rename move relocate
copy duplicate clone
send post submit deliver publish
download save export
upload import attach
run execute invoke trigger launch perform
start begin launch boot resume
stop end terminate halt kill cancel abort
convert transform translate
calculate compute evaluate
check verify validate test inspect
schedule plan book reserve appointment
email mail message inbox
chat message conversation
picture image photo photograph screenshot
folder directory
document doc file
price cost rate quote fee
stock share equity ticker
movie film cinema
song track music audio
flight airline plane airfare
hotel accommodation lodging
restaurant dining food meal
recipe cook dish
weather forecast climate temperature
map location place geocode
address street postcode
route direction navigation
website web page site url
repository repo
commit revision
issue ticket bug
chart graph plot diagram visualization
user member account person people
employee staff worker
company business firm organization
phone telephone mobile
article news story headline
summary summarize abstract overview
currency money exchange
crypto cryptocurrency bitcoin coin
payment invoice bill
compare difference diff
buy purchase order
error fault failure exception
log trace
database db sql
table spreadsheet sheet
video clip youtube
text string content
speech voice speak
job vacancy position
"""


@cache
def _by_term() -> dict[str, frozenset[str]]:
    classes = [terms(line).sequence for line in _CLASSES.strip().splitlines()]
    found: dict[str, set[str]] = {}
    for members in classes:
        for member in members:
            found.setdefault(member, set()).update(members)
    return {member: frozenset(others) for member, others in found.items()}


def synonyms_of(found: Iterable[str]) -> list[str]:
    """The terms that mean much the same as some of the given terms and are not among them, sorted."""
    known = set(found)
    classes = _by_term()
    return sorted({other for term in known for other in classes.get(term, ())} - known)
