"""The first sentence of a description: what a short listing says about a tool."""

import re

SENTENCE_LENGTH = 120
"""Characters of a first sentence at most."""
MOST_READ = 4_000
"""Characters of a description that are looked at: the sentence stands near its beginning."""

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9_-]*(?:\s[^<>]{0,200})?/?>")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_MARKS = re.compile(r"\*\*|__(?=\S)|(?<=\S)__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|\\(?=[`*_#])|`")
_LIST = re.compile(r"^(?:[-*+•>|]\s+|\d+[.)]\s+|#+\s+)+")
_HEADING = re.compile(r"^#{1,6}\s")
_RULE = re.compile(r"^[-=*_#~\s|:+]+$")
_LABEL = re.compile(
    r"example \w+ requests?:|(?:[\w/-]+ ){0,2}"
    r"(?:about|arg(?:ument)?s|description|examples?|important|inputs?|introduction|notes?|outputs?|overview"
    r"|param(?:eter)?s|prerequisites|purpose|requirements?|responses?|returns?|summary|tool|usage|warning):",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"^(?:\([^()]{0,400}\)|\[[^\[\]]{0,60}\])\s+(?=\S)")
_END = re.compile(r"[.!?]+[\"')\]]*(?=\s)|[。！？]+[」』）]*")
_ABBREVIATION = re.compile(
    r"(?:e\.?g|i\.?e|etc|vs|cf|ca|approx|incl|excl|max|min|no|nr|resp|st|dr|mr|mrs|ms|prof|inc|ltd|co|corp|jr|sr"
    r"|fig|sec|ver|v|z\.b|d\.h|u\.s|u\.k|a\.m|p\.m|[^\W\d_])\.",
    re.IGNORECASE,
)


def first_sentence(text: str, limit: int = SENTENCE_LENGTH) -> str:
    """The first sentence of a description, without markup, on one line.

    Headings, fenced code, rules, tags, mere labels (`Description:`) and notes in brackets before it are
    skipped; a heading stands in where there is no sentence. A sentence that is too long is cut at a word
    and ends in `…`.

    Args:
        text: The description; may be long, indented, or markdown.
        limit: Characters at most.
    """
    lines = _FENCE.sub("\n", text[:MOST_READ]).splitlines()
    paragraph: list[str] = []
    fallback = ""
    for line in lines:
        bare = _bare(line)
        is_heading = bool(_HEADING.match(line.strip()))
        is_aside = is_heading or bool(_LABEL.fullmatch(bare))
        if bare and is_aside and not paragraph:
            fallback = fallback or (bare if is_heading else "")
        elif bare and not (paragraph and (is_aside or _LIST.match(line.strip()))):
            paragraph.append(bare)
            if _sentence_end(_joined(paragraph)):
                break
        elif paragraph:
            break
    return _cut(_sentence(_joined(paragraph) or fallback), limit)


def _joined(lines: list[str]) -> str:
    """Lines as one, without a note in brackets before the text."""
    return _ASIDE.sub("", " ".join(lines))


def _bare(line: str) -> str:
    """A line without markup; empty if there is nothing else in it."""
    line = line.strip()
    if _RULE.match(line):
        return ""
    line = _LIST.sub("", line)
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", _TAG.sub(" ", line))).split())


def _sentence(text: str) -> str:
    end = _sentence_end(text)
    return text[:end].rstrip() if end else text.rstrip()


def _sentence_end(text: str) -> int:
    """Where the first sentence ends; 0 if it doesn't."""
    for match in _END.finditer(f"{text} "):
        head = text[: match.end()]
        if head.count("(") > head.count(")"):
            continue
        if match[0].startswith("."):
            word = head.rpartition(" ")[2].lstrip("(\"'[")
            after = text[match.end() :].lstrip()[:1]
            # an abbreviation or initial, or a sentence that goes on in lower case
            if _ABBREVIATION.fullmatch(word) or after.islower():
                continue
        return match.end()
    return 0


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    at_word = head.rpartition(" ")[0]
    if len(at_word) >= limit // 2:
        head = at_word
    return f"{head.rstrip(' ,;:.-–—(')}…"
