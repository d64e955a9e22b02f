"""From tools to numbered terms: what the keyword index is built from. Needs no numpy."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

from toolcrib.catalog.tool import Tool
from toolcrib.search.base import ServerDocs
from toolcrib.search.fields import WEIGHTS, server_texts, tool_texts
from toolcrib.search.terms import Terms, spellings, surfaces, terms

FIELDS = tuple(WEIGHTS)
"""The fields in the order in which a batch lays them out."""

_NO_TERMS = Terms([], [])


class Numbering(dict[str, int]):
    """Numbers strings from 0 on, in the order in which they first come up."""

    def __missing__(self, key: str) -> int:
        number = self[key] = len(self)
        return number


class Letters:
    """The words of tool names, and the runs of three and four letters in each (`#` marks a word's ends)."""

    def __init__(self) -> None:
        self.words = Numbering()
        self.grams = Numbering()
        self.gram_of = array("i")
        self.ends = array("i")
        self.number("")

    def number(self, word: str) -> int:
        """The number of a word; a new one is taken apart."""
        number = self.words[word]
        if number == len(self.ends):
            self.gram_of.extend({self.grams[gram] for gram in grams(word)})
            self.ends.append(len(self.gram_of))
        return number


def grams(word: str) -> Iterator[str]:
    """The runs of three and four characters of `#word#`; none of an empty word."""
    marked = f"#{word}#"
    return (marked[at : at + size] for size in (3, 4) for at in range(len(marked) - size + 1))


@dataclass(frozen=True, slots=True)
class Document:
    """One tool as terms: a `Terms` for each of `FIELDS`, the words of its name, and the runs in all its texts."""

    id: str
    fields: list[Terms]
    name_words: list[str]
    runs: set[str]


@dataclass(slots=True)
class Batch:
    """The tools of one server as numbers, laid out tool by tool and field by field.

    Attributes:
        server: The server's number.
        ids: The tools' ids.
        tokens: Term numbers; in each field its sequence, then its extras.
        in_order: How many of the tokens of each field are its sequence.
        lengths: How many tokens each field has.
        name_words: Numbers of the words of each name.
        name_lengths: How many words each name has, at least 1 (the empty word).
    """

    server: int
    ids: list[str] = field(default_factory=list[str])
    tokens: "array[int]" = field(default_factory=lambda: array("i"))
    in_order: "array[int]" = field(default_factory=lambda: array("i"))
    lengths: "array[int]" = field(default_factory=lambda: array("i"))
    name_words: "array[int]" = field(default_factory=lambda: array("i"))
    name_lengths: "array[int]" = field(default_factory=lambda: array("i"))


@dataclass(slots=True)
class Vocabulary:
    """What the numbers in an index stand for.

    Attributes:
        words: Terms.
        spelled: The term of each word made of letters, as it is written.
        letters: Words of names, and their letters.
        servers: Ids of servers; a number is never given to another server.
        server_names: The distinct terms of each server's name, by the server's number.
        digests: The digest of each server that is there.
    """

    words: Numbering = field(default_factory=Numbering)
    spelled: dict[str, str] = field(default_factory=dict[str, str])
    letters: Letters = field(default_factory=Letters)
    servers: Numbering = field(default_factory=Numbering)
    server_names: list[list[int]] = field(default_factory=list[list[int]])
    digests: dict[str, str] = field(default_factory=dict[str, str])
    _runs: set[str] = field(default_factory=set[str])

    def spell(self, runs: set[str]) -> None:
        """Take in how the words in some runs are written."""
        new = runs - self._runs
        if new:
            self._runs |= new
            self.spelled.update(spellings(sorted(new)))

    def number_server(self, server: ServerDocs) -> int:
        """The number of a server; a new one's name is taken apart."""
        number = self.servers[server.id]
        if number == len(self.server_names):
            self.server_names.append(sorted({self.words[term] for term in terms(name_of(server)).sequence}))
        return number


def read(server: ServerDocs, tools: Iterable[Tool]) -> list[Document]:
    """The documents of a server's tools; of tools with the same id the last one counts."""
    name = name_of(server)
    if name == server.title:
        # Said once, in the field that counts more.
        server = replace(server, id=name, title="")
    shared = {name: terms(text) for name, text in server_texts(server).items()}
    return [_document(tool, shared) for tool in {tool.id: tool for tool in tools}.values()]


def name_of(server: ServerDocs) -> str:
    """A server's id, or its title where that spells the id: an id has lost the case that tells words apart."""
    spelled = ["".join(surfaces(text)) for text in (server.id, server.title)]
    return server.title if spelled[0] == spelled[1] else server.id


def number(documents: Iterable[Document], server: ServerDocs, vocabulary: Vocabulary) -> Batch:
    """Number the terms of a server's documents, adding to the vocabulary what is new in them."""
    words, letters = vocabulary.words, vocabulary.letters
    batch = Batch(vocabulary.number_server(server))
    for document in documents:
        batch.ids.append(document.id)
        vocabulary.spell(document.runs)
        for part in document.fields:
            batch.tokens.extend(map(words.__getitem__, chain(part.sequence, part.extras)))
            batch.in_order.append(len(part.sequence))
            batch.lengths.append(len(part.sequence) + len(part.extras))
        name_words = dict.fromkeys(document.name_words) or [""]
        batch.name_words.extend(map(letters.number, name_words))
        batch.name_lengths.append(len(name_words))
    return batch


def _document(tool: Tool, shared: dict[str, Terms]) -> Document:
    texts = tool_texts(tool)
    title = texts.pop("title")
    own = {name: terms(text) if text else _NO_TERMS for name, text in texts.items()}
    if title:
        own["name"] = _with_title(own["name"], terms(title))
    found: list[Terms] = []
    for name in FIELDS:
        here, common = own.get(name, _NO_TERMS), shared.get(name, _NO_TERMS)
        found.append(Terms(here.sequence + common.sequence, here.extras + common.extras))
    runs = {run for part in (*own.values(), *shared.values()) for run in part.runs}
    return Document(tool.id, found, surfaces(tool.name), runs)


def _with_title(name: Terms, title: Terms) -> Terms:
    """A title that only spells the name out says nothing more."""
    if title.sequence == name.sequence:
        return name
    return Terms(name.sequence + title.sequence, name.extras + title.extras, [*name.runs, *title.runs])
