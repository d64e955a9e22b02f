"""What the gateway shows of the tools that it stands for: the few that lead to all others, or every one directly."""

from toolcrib.gateway.profiles.choosing import Surfaces
from toolcrib.gateway.profiles.direct import DirectTools
from toolcrib.gateway.profiles.discover import DiscoverTools
from toolcrib.gateway.profiles.surface import Asked, Surface

__all__ = ["Asked", "DirectTools", "DiscoverTools", "Surface", "Surfaces"]
