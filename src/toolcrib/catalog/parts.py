"""Parts of the catalog: what one source lists to everybody, or to one principal alone.

A part that is everybody's goes by the source's id, and the keys of its tools are their ids. Where a server marks its
listing as private, each principal but the local user has a part of its own; in its name, and in the keys of its tools,
the principal stands behind a NUL, which no id contains. So the same id may stand for two definitions, and nobody comes
across the other's, in a search neither.
"""

LOCAL_PRINCIPAL = "local"
"""The name of the local user, on whose behalf everything is fetched that nobody in particular asked for."""

_OWNER = "\0"


def part_name(server: str, owner: str = "") -> str:
    """The name of a part.

    Args:
        server: The source's id.
        owner: The principal that it belongs to; empty, or the local user, for the part that goes by the id.
    """
    return f"{server}{_OWNER}{owner}" if owner and owner != LOCAL_PRINCIPAL else server


def public_name(name: str) -> str:
    """The source's id from the name of a part, or a tool's id from its key."""
    return name.partition(_OWNER)[0]


def owner_of(name: str) -> str:
    """The principal that a part or key belongs to alone; empty where it is not one's own."""
    return name.partition(_OWNER)[2]
