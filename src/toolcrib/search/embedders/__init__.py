"""What turns texts into vectors."""

from toolcrib.search.embedders.base import Embedder, Matrix
from toolcrib.search.embedders.choice import configured_embedder
from toolcrib.search.embedders.endpoint import EndpointEmbedder
from toolcrib.search.embedders.fast_embed import FastEmbedEmbedder
from toolcrib.search.embedders.minilm import MiniLmEmbedder

__all__ = ["Embedder", "EndpointEmbedder", "FastEmbedEmbedder", "Matrix", "MiniLmEmbedder", "configured_embedder"]
