"""The REST server's application: waits for a request's body, then hands the request to Django in a thread.

A body that comes slowly waits in the event loop, where it keeps no thread from other callers.
"""

from __future__ import annotations

import asyncio
import errno
import io
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import close_old_connections
from django.urls import get_resolver

from fluxsite.wsgi import application as rest_application  # sets Django up, which the next ones need

# isort: split
from accounts import tokens
from accounts.principals import Principal
from fluxcore import config, incoming_bodies, spooled
from fluxcore.errors import (
    BadRequest,
    BodyTooSlow,
    DiskFull,
    FluxError,
    LengthRequired,
    NotFound,
    RateLimited,
    StorageUnavailable,
    Unauthenticated,
)
from fluxcore.spooled import SpooledBody
from fluxcore.writes import limit_messages
from fluxsite.run import threads
from memory.api.errors import as_flux_error
from memory.api.file_answers import FileAnswer, folder
from memory.api.middleware import REFUSAL
from memory.embedding import active_encoder

# A body up to this size is taken from anybody who sends it at once; for a larger one the token comes first.
UNKNOWN_BYTES = 64 * 1024
# Of a stream of events: granian keeps what a caller does not read, and one that ends is taken up with Last-Event-ID.
STREAM_BYTES = 1024 * 1024
TEMPORARY_SECONDS = 30.0  # a file that was made for one answer keeps its name for this long
QUIET_SECONDS = 2.0  # who sends nothing more of a refused body for this long is done

_BASE = {
    "SCRIPT_NAME": "",
    "SERVER_PROTOCOL": "HTTP/1.1",
    "wsgi.version": (1, 0),
    "wsgi.errors": sys.stderr,
    "wsgi.multithread": True,
    "wsgi.multiprocess": False,
    "wsgi.run_once": False,
    "wsgi.input_terminated": True,
}

Application = Callable[[Any, Any], Awaitable[None]]


def served() -> Application:
    """For a process that listens: its encoder loads in the background, so that the first recall finds it."""
    threads.set_switch_interval()
    active_encoder.load_soon()
    return bridge(rest_application)


def bridge(application: Any) -> Application:
    """A WSGI application of Django's for granian's RSGI interface."""
    pool = ThreadPoolExecutor(threads.THREADS, "rest")
    waiting = incoming_bodies.IncompleteBodies()
    streams = Streams(pool, waiting)

    async def call(scope: Any, protocol: Any) -> None:
        loop = asyncio.get_running_loop()
        headers, body, refusal = scope.headers, None, None
        size = _size(headers)
        if size == 0:
            body = b""
        elif (admit := streams.admission(scope)) is not None:
            await streams.call(application, scope, protocol, size, admit)
            return
        elif size is not None and size <= settings.MAX_BODY_BYTES:
            try:
                body = await _body(loop, pool, waiting, protocol, headers, size)
            except (BodyTooSlow, RateLimited, BadRequest) as error:
                refusal = error
            except Unauthenticated:
                pass  # Django says so, as it does to everybody else
        await loop.run_in_executor(pool, _answer, application, scope, protocol, body or b"", refusal, loop)
        if body is None and refusal is None:
            await _linger(_chunks(protocol))

    return call


class Streams:
    """Requests of calls that take their body as a file: token and rights, then the body, then a thread for the view."""

    def __init__(self, pool: ThreadPoolExecutor, waiting: incoming_bodies.IncompleteBodies) -> None:
        self._pool, self._waiting = pool, waiting
        self._disk = ThreadPoolExecutor(2, "bodies")
        patterns = get_resolver().url_patterns  # loads the framework in its own order, which the next line relies on
        from memory.api.streaming import StreamedRoutes

        self._routes = StreamedRoutes(patterns)

    def admission(self, scope: Any) -> Any:
        return self._routes.admission(scope.method, scope.path) if self._routes else None

    async def call(self, application: Any, scope: Any, protocol: Any, size: int | None, admit: Any) -> None:
        loop, chunks = asyncio.get_running_loop(), _chunks(protocol)
        refusal: FluxError | None = None
        body, unread = None, True
        try:
            token, most = await loop.run_in_executor(self._pool, _admitted, scope.headers, admit)
            body = await self._body(loop, scope.headers, chunks, size, token, most)
            unread = False
        except Unauthenticated:
            pass  # Django says so, as it does to everybody else
        except (BodyTooSlow, BadRequest, DiskFull, StorageUnavailable) as error:
            refusal, unread = error, False  # while it was read
        except Exception as error:  # Django tells it as it does any other
            refusal = as_flux_error(error)
        try:
            await loop.run_in_executor(self._pool, _answer, application, scope, protocol, b"", refusal, loop, body)
        finally:
            if body is not None:
                body.remove()
        if unread:
            await _linger(chunks)

    async def _body(
        self, loop: Any, headers: Any, chunks: Any, size: int | None, token: int | None, most: int
    ) -> SpooledBody:
        if size is None:
            # Of a body in chunks granian does not tell whether it came to its end or the line broke.
            raise LengthRequired if "transfer-encoding" in headers else BadRequest("Content-Length is not a number.")
        if size > most:
            key = "MAX_FILE_BYTES" if most == config.current().MAX_FILE_BYTES else None
            raise limit_messages.too_large("A body", limit=most, raised_by=key)
        try:
            with self._waiting.place(token):
                body = await spooled.spool_incoming(chunks, folder(), most, self._disk)
        except (RuntimeError, OSError) as error:
            if isinstance(error, FluxError):
                raise
            if isinstance(error, OSError):
                full = error.errno == errno.ENOSPC
                raise (DiskFull() if full else StorageUnavailable("The body could not be kept. Try again.")) from None
            raise BadRequest("The body was not sent to its end.") from None  # granian: the connection ended
        if body.size != size:
            body.remove()
            raise BadRequest("The body is not as long as its Content-Length says.")
        return body


def _size(headers: Any) -> int | None:
    """Bytes of the body to come; None if that is not said, or not in a number that Django would take."""
    if "transfer-encoding" in headers:
        return None
    length = headers.get("content-length") or "0"
    return int(length) if length.isdecimal() and length.isascii() and len(length) <= 15 else None


async def _body(
    loop: asyncio.AbstractEventLoop,
    pool: ThreadPoolExecutor,
    waiting: incoming_bodies.IncompleteBodies,
    protocol: Any,
    headers: Any,
    size: int,
) -> bytes:
    """The whole body. One that is large or late needs a valid token, and has a deadline."""

    async def token() -> int | None:
        return await loop.run_in_executor(pool, _token, headers)

    if size > UNKNOWN_BYTES:
        await token()
    try:
        return await waiting.whole(asyncio.ensure_future(protocol()), token, incoming_bodies.body_seconds(size))
    except FluxError:
        raise
    except RuntimeError:  # granian's word for a connection that ended
        raise BadRequest("The body was not sent completely.") from None


def _token(headers: Any) -> int | None:
    """The token's number in the database. Raises Unauthenticated."""
    with _connection():
        return _principal(headers).token


def _admitted(headers: Any, admit: Callable[[Principal], int]) -> tuple[int | None, int]:
    """The token's number, and how many bytes its principal may send there; or the refusal."""
    with _connection():
        who = _principal(headers)
        return who.token, admit(who)


def _principal(headers: Any) -> Principal:
    scheme, _, token = ",".join(headers.get_all("authorization")).partition(" ")
    return tokens.authenticate(token.strip(" ") if scheme.lower() == "bearer" else "")


@contextmanager
def _connection() -> Iterator[None]:
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()


def _answer(
    application: Any,
    scope: Any,
    protocol: Any,
    body: bytes,
    refusal: FluxError | None,
    loop: asyncio.AbstractEventLoop,
    kept: SpooledBody | None = None,
) -> None:
    """Let Django answer, in a thread of its own."""
    head: list[Any] = []

    def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        # Granian would otherwise name itself and its version.
        head.extend((int(status[:3]), [*headers, ("Server", "")]))

    environment = _environment(scope, body, refusal)
    if kept is not None:
        environment[spooled.IN_REQUEST] = kept
    response = application(environment, start)
    try:
        if not response.streaming:
            protocol.response_bytes(*head, b"".join(response))
        elif isinstance(response, FileAnswer):
            _send_file(response, head, scope, protocol, loop)
        else:
            events = response.headers.get("Content-Type", "").startswith("text/event-stream")
            _stream(response, protocol.response_stream(*head), loop, STREAM_BYTES if events else None)
    finally:
        response.close()


def _send_file(
    response: FileAnswer, head: list[Any], scope: Any, protocol: Any, loop: asyncio.AbstractEventLoop
) -> None:
    """By granian itself, which reads as fast as the caller does. A stream of chunks it would keep in memory."""
    if scope.method == "HEAD" or response.start == response.stop:
        protocol.response_empty(*head)
    else:
        protocol.response_file_range(*head, str(response.path), response.start, response.stop)
    if response.temporary:
        # Granian opens it when this call has ended, and needs its name until then.
        response.temporary = False
        loop.call_soon_threadsafe(loop.call_later, TEMPORARY_SECONDS, response.path.unlink, True)


def _stream(response: Any, transport: Any, loop: asyncio.AbstractEventLoop, most: int | None) -> None:
    """Send the chunks as they are made. A large answer is better a file: what a caller does not read is in memory."""

    async def send(chunk: bytes) -> None:
        await transport.send_bytes(chunk)

    size = 0
    for chunk in response:
        try:
            asyncio.run_coroutine_threadsafe(send(chunk), loop).result()
        except RuntimeError:
            return  # the caller is gone
        size += len(chunk)
        if most is not None and size > most:
            return


def _environment(scope: Any, body: bytes, refusal: FluxError | None) -> dict[str, Any]:
    """The request as WSGI has it. Of headers that are given twice both values are there, with a comma between."""
    headers = scope.headers
    server, _, port = scope.server.rpartition(":")
    found = {
        **_BASE,
        "REQUEST_METHOD": scope.method,
        "PATH_INFO": scope.path.encode("utf-8", "replace").decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "REMOTE_ADDR": scope.client.rpartition(":")[0].strip("[]"),
        "SERVER_NAME": server.strip("[]"),
        "SERVER_PORT": port,
        "HTTP_HOST": scope.authority or "",
        "wsgi.url_scheme": scope.scheme,
        "wsgi.input": io.BytesIO(body),
    }
    names = headers.keys()
    for name in names:
        key = name.upper().replace("-", "_")
        # A value beyond ASCII is not handed out and becomes an empty one.
        value = ",".join(headers.get_all(name))
        found[key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"] = value
    if refusal is not None:
        found[REFUSAL] = refusal
    elif "\ufffd" in scope.path:  # bytes that are no UTF-8 arrive as this character, all alike
        found[REFUSAL] = NotFound("The address is not valid UTF-8.")
    return found


async def _chunks(protocol: Any) -> AsyncIterator[bytes]:
    """A body as it comes in. Granian hands it out to one loop only, so a second one goes on with this."""
    async for chunk in protocol:
        yield chunk


async def _linger(chunks: AsyncIterator[bytes]) -> None:
    """Discard what the caller still sends, within bounds: closed at once, it would not get to read the answer."""
    loop, size = asyncio.get_running_loop(), 0
    until = loop.time() + incoming_bodies.LINGER_SECONDS
    try:
        async with asyncio.timeout(QUIET_SECONDS) as quiet:
            async for chunk in chunks:
                size += len(chunk)
                if size > incoming_bodies.LINGER_BYTES:
                    return
                quiet.reschedule(min(until, loop.time() + QUIET_SECONDS))
    except (TimeoutError, RuntimeError):
        pass
