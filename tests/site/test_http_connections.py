"""Source of a connection: the address or network whose connections share a limit."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from fluxsite.run.http_connections import BoundedProtocol, source_of
from fluxsite.serve import listening


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),  # IPv4 at a listener for both families
        ("::FFFF:C000:207", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::", "2001:db8:1:3::/64"),
        ("::1", "::/64"),
        ("fe80::1", "fe80::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("fe80::2%eth1", "fe80::/64"),
        ("/run/flux.sock", "/run/flux.sock"),
        ("", ""),
    ],
)
def test_a_source_is_an_ipv4_address_or_an_ipv6_network_of_64_bits(address: str, source: str) -> None:
    assert source_of(address) == source


def test_a_connection_over_a_unix_socket_has_no_source() -> None:
    async def source() -> str:
        server_end, client_end = socket.socketpair(socket.AF_UNIX)
        with client_end:
            transport, protocol = await asyncio.get_running_loop().connect_accepted_socket(_protocol, server_end)
            transport.abort()
            return protocol.source

    assert asyncio.run(source()) == ""


def test_ipv4_addresses_at_a_listener_for_both_families_do_not_share_a_limit(configure: Callable[..., None]) -> None:
    configure(MAX_CONNECTIONS_PER_SOURCE=1)

    async def connect_from_each() -> None:
        listener = listening("::", 0)
        server = await asyncio.get_running_loop().create_server(_protocol, sock=listener)
        port = listener.getsockname()[1]
        ipv4 = [
            await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
            for address in ("127.0.0.2", "127.0.0.3")
        ]
        ipv6 = [await asyncio.open_connection("::1", port) for _ in range(2)]
        assert await _read_all(ipv6[0][0]) == b""  # idle, so it made room for the second of its source
        for reader, writer in [*ipv4, ipv6[1]]:
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert (await _read_all(reader)).startswith(b"HTTP/1.1 204 ")
        for _, writer in (*ipv4, *ipv6):
            writer.close()
        server.close()

    asyncio.run(asyncio.wait_for(connect_from_each(), 60))


async def _read_all(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


async def _answer(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def _protocol() -> BoundedProtocol:
    server_config = uvicorn.Config(_answer, lifespan="off", log_config=None)
    server_config.load()
    return BoundedProtocol(server_config, ServerState(), {})
