"""RSGI application of the REST server: reads a request's body, then runs Django in a thread.

A slow body is read in the event loop, so it occupies no thread.
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

from fluxsite.wsgi import application as rest_application  # sets Django up, as the following imports need

# isort: split
from accounts import tokens
from accounts.principals import Principal
from fluxcore import body_file, incoming_bodies
from fluxcore.body_file import SpooledBody
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
from fluxsite.run import threads
from memory.api.errors import as_flux_error
from memory.api.file_answers import FileAnswer, folder
from memory.api.middleware import REFUSAL
from memory.embedding import active_encoder

# Bodies up to this size are read before authentication; for a larger one the token is checked first.
UNKNOWN_BYTES = 64 * 1024
# Maximum bytes of a stream of events: Granian buffers what a caller does not read. Clients resume with Last-Event-ID.
STREAM_BYTES = 1024 * 1024
TEMPORARY_SECONDS = 30.0  # time after which a file made for one answer is deleted
QUIET_SECONDS = 2.0  # reading the rest of a refused body ends after so long without data

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
    """The application for a server process; loads the encoder in the background, for the first recall."""
    threads.set_switch_interval()
    active_encoder.load_soon()
    return bridge(rest_application)


def bridge(application: Any) -> Application:
    """RSGI application for granian around Django's WSGI application."""
    pool = ThreadPoolExecutor(threads.THREADS, "rest")
    waiting = incoming_bodies.IncompleteBodies()
    streams = Streams(pool, waiting)

    async def call(scope: Any, protocol: Any) -> None:
        loop = asyncio.get_running_loop()
        headers, body, refusal = scope.headers, None, None
        size = _size(headers)
        if size == 0:
            body = b""
        elif (admit := streams.admission(scope, size)) is not None:
            await streams.call(application, scope, protocol, size, admit)
            return
        elif size is not None and size <= settings.MAX_BODY_BYTES:
            try:
                body = await _body(loop, pool, waiting, protocol, headers, size)
            except (BodyTooSlow, RateLimited, BadRequest) as error:
                refusal = error
            except Unauthenticated:
                pass  # Django sends the refusal, as for any other request
        await loop.run_in_executor(pool, _answer, application, scope, protocol, body or b"", refusal, loop)
        if body is None and refusal is None:
            await _linger(_chunks(protocol))

    return call


class Streams:
    """Runs calls that take a body as a file: checks token and rights, reads the body, then runs the view."""

    def __init__(self, pool: ThreadPoolExecutor, waiting: incoming_bodies.IncompleteBodies) -> None:
        self._pool, self._waiting = pool, waiting
        self._disk = ThreadPoolExecutor(2, "bodies")
        patterns = get_resolver().url_patterns  # imports REST framework in the order that the next line needs
        from memory.api.streaming import StreamedRoutes

        self._routes = StreamedRoutes(patterns)

    def admission(self, scope: Any, size: int | None) -> Any:
        return self._routes.admission(scope.method, scope.path, size) if self._routes else None

    async def call(self, application: Any, scope: Any, protocol: Any, size: int | None, admit: Any) -> None:
        loop, chunks = asyncio.get_running_loop(), _chunks(protocol)
        refusal: FluxError | None = None
        body, unread = None, True
        try:
            token, most = await loop.run_in_executor(self._pool, _admitted, scope.headers, admit)
            body = await self._body(loop, scope.headers, chunks, size, token, most)
            unread = False
        except Unauthenticated:
            pass  # Django sends the refusal, as for any other request
        except (BodyTooSlow, BadRequest, DiskFull, StorageUnavailable) as error:
            refusal, unread = error, False  # while the body was read
        except Exception as error:
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
            # For a chunked body granian does not tell its end from a broken connection.
            raise LengthRequired if "transfer-encoding" in headers else BadRequest("Content-Length is not a number.")
        try:
            with self._waiting.place(token):
                body = await body_file.spool_incoming(chunks, folder(), most, self._disk)
        except (RuntimeError, OSError) as error:
            if isinstance(error, FluxError):
                raise
            if isinstance(error, OSError):
                full = error.errno == errno.ENOSPC
                raise (
                    DiskFull() if full else StorageUnavailable("The body could not be written to disk. Try again.")
                ) from None
            raise BadRequest(
                "The body was not sent completely."
            ) from None  # raised by granian when the connection ends
        if body.size != size:
            body.remove()
            raise BadRequest("The body is not as long as its Content-Length says.")
        return body


def _size(headers: Any) -> int | None:
    """Content-Length of the request; None if it is missing or not a number that Django accepts."""
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
    """Read the whole body. A large or slow one requires a valid token, and has a deadline."""

    async def token() -> int | None:
        return await loop.run_in_executor(pool, _token, headers)

    if size > UNKNOWN_BYTES:
        await token()
    try:
        return await waiting.whole(asyncio.ensure_future(protocol()), token, incoming_bodies.body_seconds(size))
    except FluxError:
        raise
    except RuntimeError:  # raised by granian when the connection ends
        raise BadRequest("The body was not sent completely.") from None


def _token(headers: Any) -> int | None:
    """Primary key of the request's token. Raises Unauthenticated."""
    with _connection():
        return _principal(headers).token


def _admitted(headers: Any, admit: Callable[[Principal], int]) -> tuple[int | None, int]:
    """Primary key of the token and maximum bytes of the body, or the refusal of its principal."""
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
    spooled_body: SpooledBody | None = None,
) -> None:
    """Run Django and send its answer; called in a thread."""
    head: list[Any] = []

    def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        # An empty Server header, since granian would otherwise send its name and version.
        head.extend((int(status[:3]), [*headers, ("Server", "")]))

    environment = _environment(scope, body, refusal)
    if spooled_body is not None:
        environment[body_file.IN_REQUEST] = spooled_body
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
    """Let granian send a file, as fast as the caller reads; chunks of a stream would be buffered in memory."""
    if scope.method == "HEAD" or response.start == response.stop:
        protocol.response_empty(*head)
    else:
        protocol.response_file_range(*head, str(response.path), response.start, response.stop)
    if response.temporary:
        # Granian opens the file only after this call has returned.
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
            return  # the caller has disconnected
        size += len(chunk)
        if most is not None and size > most:
            return


def _environment(scope: Any, body: bytes, refusal: FluxError | None) -> dict[str, Any]:
    """WSGI environment of the request. Values of a repeated header are joined by a comma."""
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
        # Granian does not pass on a value beyond ASCII; it becomes an empty one.
        value = ",".join(headers.get_all(name))
        found[key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"] = value
    if refusal is not None:
        found[REFUSAL] = refusal
    elif "\ufffd" in scope.path:  # invalid UTF-8 arrives as this character
        found[REFUSAL] = NotFound("The path is not valid UTF-8.")
    return found


async def _chunks(protocol: Any) -> AsyncIterator[bytes]:
    """Chunks of a body. Granian allows one iteration only, so a later reader continues this generator."""
    async for chunk in protocol:
        yield chunk


async def _linger(chunks: AsyncIterator[bytes]) -> None:
    """Read and discard the rest of a body, within limits, so that the caller can read the answer."""
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
