"""What a person or a model would expect to find."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.catalog.tool import Tool
from toolcrib.search import KeywordSearcher, Searcher, ServerDocs, nothing_fits

pytestmark = pytest.mark.anyio

MakeTool = Callable[..., Tool]
Fill = Callable[[Searcher], Searcher]


async def first(searcher: Searcher, query: str) -> str:
    hits = await searcher.search(query, 5)
    return hits[0].tool_id if hits else ""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("create an issue", "github.create_issue"),
        ("open new issues", "github.create_issue"),
        ("list pull requests", "github.listPullRequests"),
        ("listPullRequests", "github.listPullRequests"),
        ("github.listPullRequests", "github.listPullRequests"),
        ("list-pull-requests", "github.listPullRequests"),
        ("sorted by date", "github.listPullRequests"),
        ("search code on github", "github.search_code"),
        ("send an e-mail to somebody", "mail.send_message"),
        ("bcc", "mail.send_message"),
        ("emails of a sender", "mail.search_messages"),
        ("electronic mail by subject", "mail.search_messages"),
        ("fahrenheit", "weather.forecast"),
        ("latitude", "weather.forecast"),
        ("degrees north", "weather.forecast"),
        ("millimetres of rain", "weather.forecast"),
        ("precipitation", "weather.forecast"),
        ("read a text file", "files.read_text_file"),
        ("ReadTextFile", "files.read_text_file"),
        ("capture screen", "files.take_snapshot"),
    ],
)
async def test_each_field_is_searched(filled: Fill, query: str, expected: str) -> None:
    assert await first(filled(KeywordSearcher()), query) == expected


async def test_tags_and_groups_are_searched(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("a", tags=("finance",)), [tool("a", "x")])
    grouped = tool("b", "y", _meta={"io.modelcontextprotocol/groups": ["Billing"], "fastmcp": {"tags": ["vat"]}})
    searcher.add(ServerDocs("b"), [grouped])
    assert await first(searcher, "finance") == "a.x"
    assert await first(searcher, "billing") == "b.y"
    assert await first(searcher, "VAT") == "b.y"


async def test_a_synonym_finds_but_the_word_itself_finds_better(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    searcher.add(
        ServerDocs("s"),
        [tool("s", "delete_page", "Delete a page."), tool("s", "remove_page", "Remove a page."), tool("s", "other")],
    )
    hits = await searcher.search("remove", 5)
    assert [hit.tool_id for hit in hits] == ["s.remove_page", "s.delete_page"]
    assert "synonyms" in hits[1].why
    assert "words" not in hits[1].why


async def test_words_that_stand_together_count_more(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    apart = tool("s", "apart", "A machine that is virtual.")
    together = tool("s", "pair", "A virtual machine that is.")
    searcher.add(ServerDocs("s"), [apart, together])
    hits = await searcher.search("virtual machine", 5)
    assert [hit.tool_id for hit in hits] == ["s.pair", "s.apart"]
    assert hits[0].why["pairs"] > 0
    assert "pairs" not in hits[1].why


async def test_naming_the_server_prefers_its_tools(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    for server in ("jira", "linear", "sentry"):
        searcher.add(ServerDocs(server), [tool(server, "list_issues", "List issues.")])
    hits = await searcher.search("list issues in linear", 5)
    assert hits[0].tool_id == "linear.list_issues"
    assert hits[0].why["server"] > 0
    assert "server" not in hits[1].why


@pytest.mark.parametrize("query", ["get_voice", "getVoice", "speech.get_voice", "speech get_voice", "get a voice"])
async def test_a_name_that_is_spelled_out_comes_first(tool: MakeTool, query: str) -> None:
    searcher = KeywordSearcher()
    listed = [
        tool("speech", "create_voice", "Create a voice: a voice is made from a sample of a voice."),
        tool("speech", "voice_to_voice", "Turn one voice into another voice."),
        tool("speech", "get_voice", "Everything about one of them, in a text that is longer than its neighbours'."),
    ]
    searcher.add(ServerDocs("speech"), listed)
    assert await first(searcher, query) == "speech.get_voice"


@pytest.mark.parametrize("query", ["calender", "calandar", "callendar", "calndar"])
async def test_a_misspelt_word_finds_what_was_meant(tool: MakeTool, query: str) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("s"), [tool("s", "calendar"), tool("s", "column"), tool("s", "color")])
    assert await first(searcher, query) == "s.calendar"


async def test_a_word_that_only_a_removed_server_had_is_no_correction(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("gone"), [tool("gone", "manifest")])
    searcher.add(ServerDocs("here"), [tool("here", "note", "manifst")])
    assert await first(searcher, "manifest") == "gone.manifest"
    searcher.remove("gone")
    assert await first(searcher, "manifest") == "here.note"


@pytest.mark.parametrize(
    ("description", "queries"),
    [
        ("查询12306火车票的余票信息。", ["火车票", "查询余票", "12306", "票"]),
        ("データベースを検索する", ["データベース", "検索", "ﾃﾞｰﾀﾍﾞｰｽ"]),
        ("이메일을 보내는 도구", ["이메일", "이메일 도구"]),
        ("Отправляет письма по электронной почте", ["отправить письмо", "ПИСЬМО", "почта"]),
        ("Tìm kiếm bài viết trên mạng", ["tìm kiếm", "tim kiem", "TÌM KIẾM", "ti\u0300m ki\u00ea\u0301m"]),
        ("Zeigt die Größe der Straße", ["größe", "Grosse", "strasse", "STRASSE"]),
        ("Création d'un événement", ["creation evenement", "événement"]),
        ("फ़ाइल खोजें", ["फ़ाइल", "खोजें"]),
        ("ค้นหาไฟล์ในเครื่อง", ["ค้นหา", "ไฟล์"]),
        ("Αναζήτηση αρχείων", ["αναζητηση", "αρχείων"]),
        ("ابحث عن الملفات", ["الملفات"]),
    ],
)
async def test_every_script_is_searched(tool: MakeTool, description: str, queries: list[str]) -> None:
    searcher = KeywordSearcher()
    others = [
        "查看天气",
        "ファイルを開く",
        "날씨 보기",
        "Показать погоду",
        "Xem thời tiết",
        "Das Wetter",
        "मौसम",
        "الطقس",
    ]
    searcher.add(ServerDocs("s"), [tool("s", f"other_{n}", text) for n, text in enumerate(others)])
    searcher.add(ServerDocs("t"), [tool("t", "wanted", description)])
    for query in queries:
        assert await first(searcher, query) == "t.wanted", query


async def test_accents_decide_between_words_that_differ_only_in_them(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    # Vietnamese: "bán" sells, "bàn" is a table.
    searcher.add(ServerDocs("s"), [tool("s", "x", "bàn hàng"), tool("s", "y", "bán hàng")])
    assert await first(searcher, "bán hàng") == "s.y"
    assert await first(searcher, "bàn hàng") == "s.x"
    assert {hit.tool_id for hit in await searcher.search("ban hang", 5)} == {"s.x", "s.y"}


@pytest.mark.parametrize("query", ["youtube transcript", "YouTube transcript", "You Tube transcript"])
async def test_a_product_is_found_however_its_name_is_written(tool: MakeTool, query: str) -> None:
    searcher = KeywordSearcher()
    searcher.add(
        ServerDocs("s"), [tool("s", "captions", "Captions of a YouTube video."), tool("s", "other", "Captions.")]
    )
    assert await first(searcher, query) == "s.captions"


async def test_a_need_that_no_tool_serves_gets_only_weak_hits(filled: Fill) -> None:
    searcher = filled(KeywordSearcher())
    assert nothing_fits(await searcher.search("brew me a strong cappuccino with oat milk and cinnamon", 5))
    assert nothing_fits([])
    assert not nothing_fits(await searcher.search("create an issue", 5))


async def test_a_very_long_query_is_cut_and_still_answered(filled: Fill) -> None:
    searcher = filled(KeywordSearcher())
    assert await first(searcher, "forecast of the weather " + "filler " * 20_000) == "weather.forecast"


def test_importing_search_loads_neither_numpy_nor_a_stemmer() -> None:
    code = (
        "import sys, toolcrib.search as s; s.make_searcher();"
        "print([m for m in ('numpy', 'Stemmer', 'pydantic', 'mcp') if m in sys.modules])"
    )
    # The catalog imports what it needs; what search adds to that is asked here.
    base = (
        "import sys, toolcrib.catalog; print([m for m in ('numpy', 'Stemmer', 'pydantic', 'mcp') if m in sys.modules])"
    )
    answers = [
        subprocess.run([sys.executable, "-c", each], capture_output=True, text=True, check=True).stdout
        for each in (code, base)
    ]
    assert answers[0] == answers[1]
    assert "numpy" not in answers[0]


async def test_a_long_query_of_two_parts_is_served_in_both(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    listed = [tool("qr", f"make_qr_code_{n}", "Generate a QR code image from text.") for n in range(6)]
    listed.append(tool("maths", "is_prime", "Check whether a number is a prime number."))
    searcher.add(ServerDocs("qr"), listed[:6])
    searcher.add(ServerDocs("maths"), listed[6:])
    query = "Generate a QR code image from the text of a message for a friend, and check a number for being prime"
    hits = await searcher.search(query, 5)
    ids = [hit.tool_id for hit in hits]
    assert "maths.is_prime" in ids[:2]
    assert hits[-1].why["repeats"] < 0
    # A longer list begins with the same hits.
    assert [hit.tool_id for hit in await searcher.search(query, 7)][:5] == ids


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("will I need an umbrella", "s.weather"),
        ("places to dine out tonight", "s.restaurants"),
        ("is my plane late", "s.flights"),
        ("pictures of mountains", "s.photos"),
    ],
)
async def test_everyday_words_find_the_words_of_a_description(tool: MakeTool, query: str, expected: str) -> None:
    searcher = KeywordSearcher()
    listed = [
        tool("s", "weather", "Forecast by city."),
        tool("s", "restaurants", "Restaurant search."),
        tool("s", "flights", "Flight status by number."),
        tool("s", "photos", "Stock photos."),
    ]
    searcher.add(ServerDocs("s"), listed)
    assert await first(searcher, query) == expected


async def test_confidence_is_high_for_what_is_there_and_low_for_what_is_not(filled: Fill) -> None:
    searcher = filled(KeywordSearcher())
    there = await searcher.search("create an issue in a repository", 5)
    missing = await searcher.search("brew me a strong cappuccino with oat milk and send it", 5)
    sure = [max(hit.confidence or 0 for hit in hits) for hits in (there, missing)]
    assert sure[0] > 2 * sure[1]


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("repostory", "repository"),
        ("repositoory", "repository"),
        ("repodsitory", "repository"),
        ("respoitory", "repository"),
        ("xepository", "repository"),
        ("fiel", "file"),
        ("uBtton", "button"),
        ("AVAIALBLE", "available"),
        ("naemd", "named"),
    ],
)
async def test_one_slip_anywhere_is_forgiven(tool: MakeTool, slip: str, meant: str) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("s"), [tool("s", meant), tool("s", "calendar"), tool("s", "reporting")])
    assert await first(searcher, slip) == f"s.{meant}"


async def test_a_slip_in_an_ending_leaves_the_stem(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("s"), [tool("s", "generate"), tool("s", "calendar")])
    assert await first(searcher, "generatign") == "s.generate"


async def test_letters_that_changed_places_are_thought_of_first(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    listed = [tool("s", "path"), tool("s", "auth"), tool("s", "oauth", "auth"), tool("s", "login", "auth")]
    searcher.add(ServerDocs("s"), listed)
    # "auth" is one letter from "apth" as well, and more tools have it.
    assert await first(searcher, "apth") == "s.path"


async def test_a_name_with_a_slip_is_a_name_that_is_spelled_out(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("s"), [tool("s", "convert_currency"), tool("s", "currency_convert_all")])
    hits = await searcher.search("convert currnecy", 2)
    assert hits[0].tool_id == "s.convert_currency"
    assert hits[0].why["name"] > 0


async def test_an_index_from_a_file_forgives_the_same_slips(tool: MakeTool, tmp_path: Path) -> None:
    searcher, kept = KeywordSearcher(), KeywordSearcher()
    searcher.add(ServerDocs("s"), [tool("s", "available"), tool("s", "calendar")])
    searcher.save(tmp_path / "index")
    assert kept.load(tmp_path / "index")
    # Only the written word is one slip away, not its stem "avail".
    assert await kept.search("avaialble", 5) == await searcher.search("avaialble", 5)
    assert await first(kept, "avaialble") == "s.available"


async def test_an_everyday_word_is_no_slip(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    searcher.add(ServerDocs("s"), [tool("s", "wire"), tool("s", "calendar")])
    # "wine" is one letter from "wire", and a word of its own.
    assert not any("words" in hit.why for hit in await searcher.search("wine", 5))
