"""Finding tools by what they do."""

from toolcrib.search.base import Hit, Searcher, ServerDocs, nothing_fits
from toolcrib.search.keyword import KeywordSearcher
from toolcrib.search.paging import decode_cursor, encode_cursor
from toolcrib.search.query import Query, merge_needs, parse_query
from toolcrib.search.regex import RegexSearcher
from toolcrib.search.strategies import make_searcher

__all__ = [
    "Hit",
    "KeywordSearcher",
    "Query",
    "RegexSearcher",
    "Searcher",
    "ServerDocs",
    "decode_cursor",
    "encode_cursor",
    "make_searcher",
    "merge_needs",
    "nothing_fits",
    "parse_query",
]
