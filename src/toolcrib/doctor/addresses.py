"""Addresses of remote servers."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from toolcrib.config import ResolvedServer
from toolcrib.doctor.finding import Finding
from toolcrib.redact import looks_secret

CHECK = "url"


def check_addresses(resolved: Mapping[str, ResolvedServer]) -> Iterator[Finding]:
    """Whether remote servers are spoken to in the open, or in a way that is going away.

    Of an address only the host is shown: services put keys into the rest.
    """
    for server, entry in resolved.items():
        if entry.url is None:
            continue
        parts = urlsplit(entry.url)
        host = parts.hostname or ""
        if parts.scheme.lower() == "http" and not is_loopback(host):
            secret = parts.username or any(looks_secret(name) for name in entry.headers)
            message = f"{host} is spoken to without encryption"
            if secret:
                yield Finding(CHECK, "warning", server, f"{message}, credentials included.", "Use https://.")
            else:
                yield Finding(CHECK, "note", server, f"{message}.", "Use https:// if it offers that.")
        if entry.transport == "sse":
            yield Finding(
                CHECK,
                "note",
                server,
                f"{host} is spoken to over HTTP with server-sent events, which MCP gave up with revision 2025-03-26.",
                "Most such servers have an address for Streamable HTTP too, often ending in /mcp.",
            )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
