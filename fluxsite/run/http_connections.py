"""HTTP connections of the dashboard and MCP servers, limited in headers, time and number."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import defaultdict
from ipaddress import ip_address, ip_network
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from fluxcore import config, incoming_bodies
from fluxcore.errors import BadHost, BadRequest, BodyTooSlow, Busy, FluxError, HeadersTooLarge, Unauthenticated

MAX_HEADERS = 100
MAX_HEADER_BYTES = 16 * 1024  # bytes of headers and request line
REFUSED_SECONDS = 2.0  # time for which the rest of a refused request is read and discarded
REFUSED_BYTES = 4 * 1024 * 1024  # maximum bytes that are discarded


class OpenConnections:
    """The open connections of one port by source address, oldest first."""

    def __init__(self) -> None:
        self._by_source: defaultdict[str, dict[BoundedProtocol, None]] = defaultdict(dict)

    def add(self, connection: BoundedProtocol) -> bool:
        """Add a connection; False if there is no room.

        If the limits are reached, one is closed that has no running request, or one whose body is incomplete.
        """
        limits = config.current()
        same_source = self._by_source[connection.source]
        if len(same_source) >= limits.MAX_CONNECTIONS_PER_SOURCE and not _make_room(same_source):
            return False
        total = sum(map(len, self._by_source.values()))
        if total >= limits.MAX_CONNECTIONS:
            largest_first = sorted(self._by_source.values(), key=len, reverse=True)
            if not any(_make_room(connections) for connections in largest_first):
                return False
        same_source[connection] = None
        return True

    def discard(self, connection: BoundedProtocol) -> None:
        same_source = self._by_source[connection.source]
        same_source.pop(connection, None)
        if not same_source:
            del self._by_source[connection.source]


def _make_room(connections: dict[BoundedProtocol, None]) -> bool:
    """Remove closed connections (WebSockets do not report their end), else one idle one or one incomplete body."""
    closed = [connection for connection in connections if connection.transport.is_closing()]
    idle = next((connection for connection in connections if connection.is_idle()), None)
    incomplete = [connection for connection in connections if connection.awaits_body()]
    oldest = min(incomplete, key=lambda connection: connection.body_started, default=None)
    for connection in closed or filter(None, [idle or oldest]):
        del connections[connection]
        connection.transport.abort()
    return bool(closed or idle or oldest)


# By port: who fills the dashboard's places leaves those of the MCP server.
_open: defaultdict[int, OpenConnections] = defaultdict(OpenConnections)


def source_of(address: str) -> str:
    """The address or network that a connection counts for: one host often has a whole IPv6 network of 64 bits."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    # A listener for both families reports IPv4 addresses as ::ffff:192.0.2.7: all of them in one network of IPv6.
    return str(parsed.ipv4_mapped or ip_network((parsed, 64), strict=False))


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1, with at most 16 KiB and 100 headers within REQUEST_SECONDS, and a deadline for bodies.

    The parser copies a header again with each piece of it that arrives, so an endless one must not reach it.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.source = ""
        self._in_headers = True
        self._header_bytes = self._fed_bytes = self._body_bytes = self._discarded = 0
        self._announced = 0  # Content-Length of the body
        self.body_started = 0.0  # time of the event loop
        self._refusal: FluxError | None = None
        self._refused = self._upgraded = self._last_answer_sent = False
        self._timer: asyncio.TimerHandle | None = None

    def is_idle(self) -> bool:
        """Whether no request is running: the last one is answered, and the headers of the next are incomplete."""
        return not self._upgraded and (self._in_headers if self.cycle is None else self.cycle.response_complete)

    def awaits_body(self) -> bool:
        """The peer still has to send a part of the body of a request that is not answered."""
        return not (self._upgraded or self._in_headers or self.cycle is None or self.cycle.response_complete)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.source = source_of(self.client[0]) if self.client else ""
        self._listener = _open[(self.server[1] if self.server else None) or 0]
        if self._listener.add(self):
            self._start_timer(config.current().REQUEST_SECONDS, self.transport.abort)
        else:
            self._refuse(Busy("Too many open connections. Close some, or try again in 1 s.", retry_after=1))

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._listener.discard(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            while data and not self.transport.is_closing():
                if self._refused or (not self._in_headers and self.cycle is not None and self.cycle.response_complete):
                    self._count_discarded(len(data))
                if self._refused or self._upgraded:
                    return
                data = self._feed(data)
        except FluxError as error:
            self._refuse(error)
        except httptools.HttpParserUpgrade:
            if self._should_upgrade():
                self._upgraded = True
                self._stop_timer()
                self.handle_websocket_upgrade()
        except httptools.HttpParserError:
            self._refuse(self._refusal or BadRequest())

    def _feed(self, data: bytes) -> bytes:
        """Feed the parser as much data as it may have at once; returns the rest."""
        if not self._in_headers:
            self._fed_bytes += len(data)
            self.parser.feed_data(data)
            # Overhead of chunk sizes and trailers: at most 16 bytes for each byte of the body.
            if self._fed_bytes > MAX_HEADER_BYTES + 16 * max(self._body_bytes, self._announced):
                raise BadRequest("The chunked body has too much overhead.")
            return b""
        if self._header_bytes >= MAX_HEADER_BYTES:
            raise HeadersTooLarge
        if not self._header_bytes:
            self._start_timer(config.current().REQUEST_SECONDS, self.transport.abort)
        piece, rest = data[: MAX_HEADER_BYTES - self._header_bytes], data[MAX_HEADER_BYTES - self._header_bytes :]
        self._header_bytes += len(piece)
        self.parser.feed_data(piece)
        return rest

    def on_headers_complete(self) -> None:
        names = [name for name, _ in self.headers]
        if len(names) > MAX_HEADERS:
            self._refusal = HeadersTooLarge()
        elif names.count(b"host") != 1:
            self._refusal = BadHost("Send one Host header.")
        elif names.count(b"authorization") > 1:
            self._refusal = Unauthenticated("Send one Authorization header, not several.")
        if self._refusal is not None:
            raise self._refusal  # the parser turns it into its own error
        self._in_headers, self._header_bytes = False, 0
        length = dict(self.headers).get(b"content-length", b"0")
        self._announced = min(int(length), incoming_bodies.LINGER_BYTES) if length.isdigit() and len(length) < 20 else 0
        self.body_started = self.loop.time()
        self._start_timer(incoming_bodies.body_seconds(0), self._end_body)
        super().on_headers_complete()
        if self.cycle is not None:
            self.cycle.transport = _LingeringTransport(self)  # type: ignore[assignment]

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._stop_timer()
        self._in_headers = True
        self._header_bytes = self._fed_bytes = self._body_bytes = self._discarded = 0
        super().on_message_complete()
        if self._last_answer_sent:
            self.transport.close()

    def close_after_body(self) -> None:
        """Close the connection, but let a peer that is still sending read the answer first."""
        if self._in_headers:
            self.transport.close()
        else:
            self._last_answer_sent = True
            if self.transport.can_write_eof():
                self.transport.write_eof()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._in_headers and not self.transport.is_closing():
            # Answered before the whole body was read: the rest is discarded, so that the peer reads the answer.
            self._start_timer(incoming_bodies.LINGER_SECONDS, self.transport.close)

    def _end_body(self) -> None:
        """Handle the deadline of a body: it gets more time as it grows, whatever length was announced."""
        left = self.body_started + incoming_bodies.body_seconds(self._body_bytes) - self.loop.time()
        if left > 0:
            self._start_timer(left, self._end_body)
        elif self.flow.read_paused:  # by the application, which reads slowly: the peer is not to blame
            self._start_timer(1.0, self._end_body)
        else:
            self._refuse(BodyTooSlow())

    def _count_discarded(self, size: int) -> None:
        self._discarded += size
        if self._discarded > (REFUSED_BYTES if self._refused else incoming_bodies.LINGER_BYTES):
            self.transport.abort()

    def _start_timer(self, seconds: float, callback: Any) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, callback)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, error: FluxError) -> None:
        """Send the refusal unless an answer has begun, and end the connection when the peer had time to read it."""
        under_way = self.cycle is not None and not self.cycle.response_complete
        if under_way and self.cycle.response_started:
            self.transport.abort()
            return
        if under_way:
            self.cycle.disconnected = True  # the application's answer is ignored
            self.cycle.message_event.set()
        self._refused, self._discarded = True, 0
        self.transport.write(_answer(error))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._start_timer(REFUSED_SECONDS, self.transport.abort)


class _LingeringTransport:
    """Transport given to requests: closing it first discards the rest of the body, within limits."""

    def __init__(self, protocol: BoundedProtocol) -> None:
        self._protocol = protocol
        self.write, self.is_closing = protocol.transport.write, protocol.transport.is_closing

    def close(self) -> None:
        self._protocol.close_after_body()


def _answer(error: FluxError) -> bytes:
    body = json.dumps({**error.body(), "request_id": secrets.token_hex(8)}).encode()
    headers = [
        b"content-type: application/json",
        b"content-length: %d" % len(body),
        b"connection: close",
        b"cache-control: no-store",
        b"x-content-type-options: nosniff",
    ]
    if error.retry_after is not None:
        headers.append(b"retry-after: %d" % max(1, round(error.retry_after)))
    if error.status == 401:
        headers.append(b"www-authenticate: Bearer")
    return STATUS_LINE[error.status] + b"\r\n".join([*headers, b"", body])
