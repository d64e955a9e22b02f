"""Words that mean much the same, or belong to one thing, in requests and in the descriptions of tools.

People ask in everyday words ("is my flight late"), tools are described in those of their makers ("airport status
by airline"). Each line is a class of words; a word may be in several. The classes are general knowledge, not
taken from any catalog.
"""

from collections.abc import Mapping
from functools import cache

from toolcrib.search.terms import terms

_SAME = """
get fetch retrieve obtain read view lookup load
list enumerate browse index
search query find lookup discover seek
create add new make insert generate build
delete remove erase drop destroy clear purge
update edit modify change set alter patch
rename move relocate
copy duplicate clone
send post submit deliver publish
upload import attach
run execute invoke trigger launch perform
start begin launch boot resume
stop end terminate halt kill cancel abort
convert transform translate
calculate compute evaluate
check verify validate test inspect
schedule plan book reserve appointment
picture image photo photograph screenshot
price cost rate quote fee
song track music audio
restaurant dining food meal
address street postcode
commit revision
user member account person people
employee staff worker
article news story headline
compare difference diff
error fault failure exception
text string content
job vacancy position
"""

_ONE_THING = """
travel trip vacation holiday itinerary destination tour tourism journey getaway abroad
attraction sightseeing landmark museum tour activity experience
hotel hostel accommodation lodging stay room resort apartment airbnb
flight airline airport fly airfare plane ticket aviation
train bus subway transit transport commute railway
car vehicle automobile drive rental auto truck motorcycle dealer
taxi ride uber cab
parking garage traffic road highway
weather forecast temperature rain snow storm humidity wind climate sunny umbrella
map location place nearby near address coordinate geocode city town
direction route navigation distance drive walk
country nation capital flag population
timezone time clock hour zone
calendar schedule event appointment meeting agenda reminder availability
task todo reminder checklist project
deadline date due day
restaurant dining dinner lunch eat cuisine food cafe menu reservation
recipe cook ingredient dish meal kitchen bake dinner
diet nutrition calorie meal food healthy weight protein vitamin
wine beer cocktail drink beverage liquor
grocery supermarket shopping store food
health medical medicine doctor disease symptom sick illness patient clinical hospital
drug medication pharmacy prescription pill dose
fitness workout exercise gym training muscle running sport
sleep meditation relax stress mindfulness wellness
therapy mental depression anxiety emotion mood feeling
pregnancy baby child parent kid family
pet dog cat animal breed
plant garden flower tree
stock share equity ticker invest market portfolio dividend trading nasdaq
invest investment fund portfolio asset wealth retirement
bank account loan mortgage credit interest finance financial
money finance budget expense saving cost spend
currency exchange dollar euro yen pound forex money
crypto cryptocurrency bitcoin ethereum blockchain coin token wallet nft
tax income accounting invoice
payment pay bill invoice checkout charge
insurance policy claim coverage
price cost cheap expensive afford deal discount budget
coupon discount deal promo sale offer voucher bargain
shop shopping buy purchase product store order ecommerce retail amazon
gift present birthday celebration
clothes fashion outfit wear dress shoes style clothing
beauty makeup cosmetic skincare hair
furniture decor interior home design
house home property estate apartment rent realty mortgage listing zillow
job career employment hire vacancy recruit work salary
resume cv career job interview
company business firm organization corporation enterprise
startup business idea entrepreneur venture
marketing advertising campaign ad brand promotion
seo keyword ranking website traffic backlink google
lead sales crm prospect customer deal
customer support ticket client helpdesk
law legal lawyer court case attorney statute contract legislation
contract agreement sign signature document
government policy regulation congress public
crime police safety security
news headline article journalist current latest press
book novel author read library reading literature
quote quotation saying inspiration motivational
poem poetry verse rhyme lyric
story tale fiction narrative
bible scripture verse christian religious quran
astrology horoscope zodiac tarot fortune
joke humor funny meme laugh
game play gaming player fun puzzle
chess board game move
quiz trivia question game
movie film cinema show actor watch
tv television show series episode watch stream
video clip youtube watch footage movie
anime manga cartoon
music song track playlist album artist listen spotify tune
podcast episode listen audio
concert event ticket show festival
sport team score match league player football soccer basketball baseball
bet odds gambling wager
race driver circuit formula
art painting artist drawing gallery artwork
picture image photo photograph illustration visual draw logo
logo design brand icon graphic
color palette hue
font typography text
chart graph plot diagram visualization visualize
diagram flowchart uml mindmap mermaid
presentation slide powerpoint deck
spreadsheet excel sheet table csv
pdf document file
document doc file paper
paper research academic scholarly journal study publication arxiv citation science
science scientific physics chemistry biology
math mathematics equation calculate algebra solve calculator computation
statistic data analysis analyze metric
unit convert measurement length
number random digit
education learn course lesson student study teach school tutor
university college school degree admission
language translate translation translator english foreign vocabulary
word dictionary definition meaning define vocabulary synonym
grammar spelling proofread writing
essay write writing content article blog
summary summarize condense tldr brief overview abstract
email mail inbox gmail message
chat message conversation slack talk
phone telephone call mobile sms number
sms text message
contact person people address
social tweet twitter facebook instagram post
friend dating relationship match
voice speech audio speak pronunciation
transcript transcribe caption subtitle
website web page site webpage url link internet online
browser browse web page click
scrape crawl extract web
search find lookup query google
link url shorten redirect
qr barcode code scan
domain dns whois hostname
ip network address server
server host machine vm instance
cloud aws azure deploy
container docker kubernetes pod
code program programming script developer software coding
repository repo git github commit branch
bug issue error defect problem ticket
test testing qa
api endpoint rest integration
database db sql table query
log trace monitor
security vulnerability threat malware virus
password secret credential login
encrypt decrypt hash cipher
user account member profile
person people name celebrity biography
name generate
age birthday birth date
wikipedia encyclopedia knowledge fact history
history historical past ancient
space astronomy planet nasa star
earthquake disaster natural hazard
air quality pollution environment carbon emission
energy electricity power solar
device smart home iot sensor light
print printer 3d model
file folder directory path disk
backup restore archive snapshot
zip compress archive extract
download save export
prompt ai gpt model llm
chatbot assistant ai
plugin tool app application
workflow automation automate zapier trigger
note memo notebook notion
memory remember recall store
knowledge graph entity relation
form survey questionnaire poll response
review rating feedback opinion
compare comparison versus difference
recommend recommendation suggest suggestion best
top popular trending best
ship shipping delivery package parcel tracking courier
flight ship vessel maritime
volunteer charity donate donation nonprofit
wedding party event celebration
"""


@cache
def synonyms() -> Mapping[str, tuple[str, ...]]:
    """For each term in a class, the other terms of its classes, sorted."""
    found: dict[str, set[str]] = {}
    for line in (_SAME + _ONE_THING).strip().splitlines():
        members = terms(line).sequence
        for member in members:
            found.setdefault(member, set()).update(members)
    return {member: tuple(sorted(others - {member})) for member, others in found.items()}
