"""HTTP clients for a running server: `FluxClient`, and `AsyncFluxClient` for asyncio.

They have the same methods (`flux/rooms/`) and differ only in this file. Neither imports Django or server code.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx2

from flux.core import MAX_ANSWER, AsyncSends, Request, RetryBudget, Sends, parsed
from flux.errors import FluxError, NotUnderstood, Unreachable
from flux.rooms import Rooms

T = TypeVar("T")
DEFAULT_URL = "http://127.0.0.1:7465"
TIMEOUT = 30.0  # seconds for one try: connecting, sending and reading the answer
CONNECT = 5.0  # seconds to connect
RETRIES = 3
PART = 256 * 1024  # bytes of a file that are read at once
PATIENCE = 30.0  # seconds that one call waits between its tries, in total
_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class _Settings:
    """Arguments of both clients, with defaults from the environment."""

    def __init__(
        self, url: str | None, token: str | None, *, caller: str | None, timeout: float, retries: int, patience: float
    ) -> None:
        self.url = (url or os.environ.get("FLUX_URL") or DEFAULT_URL).rstrip("/")
        self.timeout, self.retries, self.patience = timeout, retries, patience
        bearer = token or os.environ.get("FLUX_TOKEN")
        self.headers = {"User-Agent": "flux-memory"}
        if bearer:
            self.headers["Authorization"] = f"Bearer {bearer}"
        if caller:
            self.headers["X-Caller-Id"] = caller

    def http(self) -> dict[str, Any]:
        """Arguments of httpx2's client. Proxies and .netrc are ignored: the token is sent only to the given address."""
        return {
            "base_url": self.url,
            "headers": self.headers,
            "trust_env": False,
            "follow_redirects": False,
            "timeout": httpx2.Timeout(self.timeout, connect=min(CONNECT, self.timeout)),
        }

    def tries(self) -> RetryBudget:
        return RetryBudget(self.retries, self.patience)

    def broken(self, error: Exception) -> FluxError:
        if isinstance(error, httpx2.TimeoutException) and not isinstance(error, _NOT_SENT):
            return Unreachable(f"{self.url} did not answer within {self.timeout:g} seconds.")
        if isinstance(error, (httpx2.UnsupportedProtocol, httpx2.InvalidURL)):
            return NotUnderstood(f"{self.url!r} is not a valid server address. It must be like http://127.0.0.1:7465.")
        reason = str(error) or type(error).__name__
        return Unreachable(f"{self.url} cannot be reached: {reason}.", sent=not isinstance(error, _NOT_SENT))


class _BoundedAnswer:
    """Buffer of an incoming answer, limited in size and in total time."""

    def __init__(self, seconds: float) -> None:
        self.until, self.pieces, self.size = time.monotonic() + seconds, list[bytes](), 0

    def take(self, piece: bytes) -> None:
        self.pieces.append(piece)
        self.size += len(piece)
        if self.size > MAX_ANSWER:
            raise NotUnderstood(f"The answer has more than {MAX_ANSWER} bytes.")
        if time.monotonic() > self.until:
            raise httpx2.ReadTimeout("the answer took too long")


def _parts(body: bytes | Path | None) -> Any:
    """A body as the synchronous client sends it; a file in parts."""
    return _file_parts(body) if isinstance(body, Path) else body


def _async_parts(body: bytes | Path | None) -> Any:
    return _async_file_parts(body) if isinstance(body, Path) else body


def _file_parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(PART):
            yield part


async def _async_file_parts(path: Path) -> AsyncIterator[bytes]:
    parts = _file_parts(path)
    while part := await asyncio.to_thread(next, parts, b""):
        yield part


class FluxClient(Rooms, Sends):
    """Synchronous client of a memory server. Threads may share it; close it, or use it with `with`."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        caller: str | None = None,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        patience: float = PATIENCE,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        """`url` and `token` default to FLUX_URL and FLUX_TOKEN; `caller` is a label inside the agent."""
        self._settings = _Settings(url, token, caller=caller, timeout=timeout, retries=retries, patience=patience)
        self._http = httpx2.Client(**self._settings.http(), transport=transport)

    def send(self, request: Request[T]) -> T:
        tries = self._settings.tries()
        while True:
            found = self._once(request)
            if not isinstance(found, FluxError):
                return found  # type: ignore[no-any-return]
            pause = tries.pause(request, found)
            if pause is None:
                raise found
            time.sleep(pause)

    def _once(self, request: Request[Any]) -> Any:
        reading = _BoundedAnswer(self._settings.timeout)
        try:
            with self._http.stream(
                request.method, request.url, headers=request.headers, content=_parts(request.body)
            ) as answer:
                for piece in answer.iter_bytes():
                    reading.take(piece)
            return parsed(request, answer.status_code, answer.headers, b"".join(reading.pieces))
        except NotUnderstood as error:
            return error
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            return self._settings.broken(error)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> FluxClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncFluxClient(Rooms, AsyncSends):
    """Asynchronous client of a memory server: the same methods, awaited; any number of calls can run concurrently."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        caller: str | None = None,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        patience: float = PATIENCE,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """`url` and `token` default to FLUX_URL and FLUX_TOKEN; `caller` is a label inside the agent."""
        self._settings = _Settings(url, token, caller=caller, timeout=timeout, retries=retries, patience=patience)
        self._http = httpx2.AsyncClient(**self._settings.http(), transport=transport)

    async def send(self, request: Request[T]) -> T:
        tries = self._settings.tries()
        while True:
            found = await self._once(request)
            if not isinstance(found, FluxError):
                return found  # type: ignore[no-any-return]
            pause = tries.pause(request, found)
            if pause is None:
                raise found
            await asyncio.sleep(pause)

    async def _once(self, request: Request[Any]) -> Any:
        reading = _BoundedAnswer(self._settings.timeout)
        try:
            async with self._http.stream(
                request.method, request.url, headers=request.headers, content=_async_parts(request.body)
            ) as answer:
                async for piece in answer.aiter_bytes():
                    reading.take(piece)
            return parsed(request, answer.status_code, answer.headers, b"".join(reading.pieces))
        except NotUnderstood as error:
            return error
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            return self._settings.broken(error)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncFluxClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()
