"""Registries: where descriptions of servers come from that are not configured yet."""

from toolcrib.servers.registries.base import Listing, Registry, shown_place
from toolcrib.servers.registries.document import ServerDescription
from toolcrib.servers.registries.entry import KINDS, Missing, Proposal, propose
from toolcrib.servers.registries.opening import open_registries

__all__ = [
    "KINDS",
    "Listing",
    "Missing",
    "Proposal",
    "Registry",
    "ServerDescription",
    "open_registries",
    "propose",
    "shown_place",
]
