"""Search by words and by meaning at once."""

from toolcrib.search.clauses import clauses
from toolcrib.search.semantic import SemanticSearcher


class HybridSearcher(SemanticSearcher):
    """Searches by the words and the meaning of the query, as a whole and clause by clause; see `SemanticSearcher`."""

    name = "hybrid"
    _by_words = True

    def _texts(self, query: str) -> list[str]:
        return [query, *clauses(query)]
