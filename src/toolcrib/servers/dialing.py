"""A connected socket to whichever address of a host answers first (RFC 8305).

asyncio has the same, and loses sockets by it: of a caller that gives up at the moment in which it is connected, nobody
closes the socket, and of two addresses that answer together the second is nobody's.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

import anyio

_DELAY_SECONDS = 0.25
"""Until the next address of a name is tried (RFC 8305, 8)."""

_Address = tuple[int, Any]
"""The family of an address, and the address in the form of that family."""


async def dial(host: str, port: int) -> socket.socket:
    """Connect to a host.

    Args:
        host: Its name or address.
        port: The port.

    Returns:
        A connected socket that does not block.

    Raises:
        OSError: The name is not known, or no address of it could be connected to.
    """
    addresses = await _addresses(host, port)
    return await (_connected(addresses[0]) if len(addresses) == 1 else _first(addresses))


async def _addresses(host: str, port: int) -> Sequence[_Address]:
    """All addresses of a host, those of the two families by turns (RFC 8305, 4)."""
    try:
        family = socket.AF_INET6 if ip_address(host).version == 6 else socket.AF_INET
    except ValueError:
        pass
    else:
        return [(family, (host, port))]  # looking it up would take a thread
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    turns, by_turn = Counter[int](), list[tuple[int, _Address]]()
    for family, _, _, _, address in found:
        by_turn.append((turns[family], (family, address)))
        turns[family] += 1
    return [each for _, each in sorted(by_turn, key=lambda each: each[0])]


async def _first(addresses: Sequence[_Address]) -> socket.socket:
    connected: list[socket.socket] = []
    failures: list[str] = []

    async def attempt(address: _Address, failed: anyio.Event) -> None:
        try:
            connected.append(await _connected(address))
        except OSError as error:
            failures.append(str(error))
            failed.set()
        else:
            attempts.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as attempts:
            for address in addresses:
                failed = anyio.Event()
                attempts.start_soon(attempt, address, failed)
                with anyio.move_on_after(_DELAY_SECONDS):
                    await failed.wait()
    except BaseException:
        for each in connected:
            each.close()
        raise
    for each in connected[1:]:
        each.close()
    if not connected:
        raise OSError("; ".join(failures) or "The name has no address.")
    return connected[0]


async def _connected(address: _Address) -> socket.socket:
    made = socket.socket(address[0], socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, address[1])
    except BaseException:
        made.close()
        raise
    return made
