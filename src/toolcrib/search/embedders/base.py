"""What turns texts into vectors: `Embedder`."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Matrix: TypeAlias = "NDArray[np.float32]"
"""Numbers in rows and columns; numpy is not loaded for saying so."""


class Embedder(ABC):
    """Turns texts into vectors whose cosine says how near two texts are in meaning.

    Its methods block, and are called in worker threads. Whatever they raise, and whatever they answer that is
    no matrix of finite numbers with one row a text, makes searches go on without them.
    """

    name: str
    """Names the model and all else that decides the vectors, which are kept under it between runs."""

    dimension: int = 0
    """How many numbers a vector has; 0 while that is not known."""

    @abstractmethod
    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """[texts, dimension] The vectors of what is searched."""

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """[texts, dimension] The vectors of what is searched for."""
        return self.embed_documents(texts)
