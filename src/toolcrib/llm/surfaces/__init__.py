"""How tools reach a model: one file a way."""

from toolcrib.llm.surfaces.base import Answer, Kind, Surface, SurfaceName
from toolcrib.llm.surfaces.direct import AllTools, DeferredTools, Descriptions
from toolcrib.llm.surfaces.guided import GuidedTools
from toolcrib.llm.surfaces.native import NativeSearch, NativeTools
from toolcrib.llm.surfaces.search import SearchTools

__all__ = [
    "AllTools",
    "Answer",
    "DeferredTools",
    "Descriptions",
    "GuidedTools",
    "Kind",
    "NativeSearch",
    "NativeTools",
    "SearchTools",
    "Surface",
    "SurfaceName",
]
