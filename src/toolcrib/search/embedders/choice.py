"""The embedder that a configuration asks for."""

import os
from typing import TYPE_CHECKING

from toolcrib.files import expanded
from toolcrib.search.embedders.base import Embedder
from toolcrib.search.embedders.endpoint import EndpointEmbedder
from toolcrib.search.embedders.fast_embed import FastEmbedEmbedder
from toolcrib.search.embedders.minilm import MiniLmEmbedder, is_installed

if TYPE_CHECKING:
    from toolcrib.config import SearchSettings


def configured_embedder(settings: "SearchSettings | None") -> Embedder | None:
    """The embedder that the settings name; where they name none, the server's, else the installed model's if any.

    Raises:
        ConfigError: What the settings name can't be used.
    """
    if settings is None:
        return MiniLmEmbedder() if is_installed() else None
    if settings.embedder == "endpoint" or (settings.embedder == "auto" and settings.embedder_url):
        key = os.environ.get(settings.embedder_key_env, "") if settings.embedder_key_env else ""
        return EndpointEmbedder(settings.embedder_url, settings.embedder_model, key=key)
    if settings.embedder == "fastembed":
        return FastEmbedEmbedder(settings.embedder_model)
    model = expanded(settings.embedder_model) if settings.embedder_model else None
    if settings.embedder == "minilm" or is_installed(model):
        return MiniLmEmbedder(model)
    return None
