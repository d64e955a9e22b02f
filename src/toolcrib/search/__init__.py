"""Finding tools by what they do."""

from toolcrib.search.base import Hit, Searcher, ServerDocs, nothing_fits
from toolcrib.search.delegate import Candidate, Chooser, DelegateSearcher
from toolcrib.search.embedders import Embedder, EndpointEmbedder, FastEmbedEmbedder, MiniLmEmbedder
from toolcrib.search.explanation import ExplainedHit, Explanation, Share, Sought
from toolcrib.search.hybrid import HybridSearcher
from toolcrib.search.keyword import KeywordSearcher
from toolcrib.search.paging import decode_cursor, encode_cursor
from toolcrib.search.query import Browse, Needs, Pattern, Query, Select, merge_needs, parse_query
from toolcrib.search.regex import RegexSearcher, search_pattern
from toolcrib.search.semantic import SemanticSearcher
from toolcrib.search.strategies import make_searcher

__all__ = [
    "Browse",
    "Candidate",
    "Chooser",
    "DelegateSearcher",
    "Embedder",
    "EndpointEmbedder",
    "ExplainedHit",
    "Explanation",
    "FastEmbedEmbedder",
    "Hit",
    "HybridSearcher",
    "KeywordSearcher",
    "MiniLmEmbedder",
    "Needs",
    "Pattern",
    "Query",
    "RegexSearcher",
    "Searcher",
    "Select",
    "SemanticSearcher",
    "ServerDocs",
    "Share",
    "Sought",
    "decode_cursor",
    "encode_cursor",
    "make_searcher",
    "merge_needs",
    "nothing_fits",
    "parse_query",
    "search_pattern",
]
