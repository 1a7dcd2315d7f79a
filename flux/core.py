"""Core of both clients: turns calls into requests and answers into values, and decides on retries.

**Adding a room's methods.** Methods of calls that are declared in `flux/calls/` are written by `make docs`
(docs/adding-a-call.md). For the others write a class in `flux/rooms/` with one method per call, decorated with
`@call(METHOD, ROUTE)` and named as the call's operationId in the OpenAPI document. The method takes the call's
arguments and returns `CallArguments`: the values of the path, the query and the body. Its annotation
`-> CallArguments[Answer]` names the answer, a TypedDict in `flux/answers/` with the keys of the document's schema. Then
add the class to `Rooms` in `flux/rooms/__init__.py`. Both clients then have the method: `FluxClient` returns `Answer`,
`AsyncFluxClient` an awaitable of it. `tests/sdk/test_calls.py` fails while a REST call has no method, or a method
differs from the document. Objects over several calls (`AgentMemory`, `Blackboard`) are written in `flux/exact.py`.
"""

from __future__ import annotations

import functools
import json
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload
from urllib.parse import quote

from flux.errors import FluxError, NotUnderstood, Unreachable, refusal

P = ParamSpec("P")
T = TypeVar("T")

PREFIX = "/api/v1/"
MAX_ANSWER = 64 * 1024 * 1024  # maximum bytes of an answer; no answer of this API is larger
FIRST_PAUSE = 0.2  # seconds before the second try; each later one waits twice as long
# Statuses of temporary refusals: nothing was written, or the idempotency key prevents a second write.
RETRIED = frozenset({429, 503})
AnswerForm = Literal["json", "text", "bytes"]


class _Null:
    """Type of NULL, JSON's null in a body; None stands for a field that is left out."""


NULL = _Null()


@dataclass(frozen=True)
class CallArguments(Generic[T]):
    """Arguments of a call by where they are sent: path, query or body. `T` is the type of the answer."""

    body: Mapping[str, Any] | None = None  # fields of a JSON body
    content: bytes | Path | None = None  # a body that is sent as it is; its labels are in the query
    headers: Mapping[str, str] = field(default_factory=dict)
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Request(Generic[T]):
    """An HTTP request of a call, which can be sent more than once."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | Path | None
    gives: AnswerForm
    repeatable: bool  # sending it twice has the same effect as once


class call:
    """Decorator of a method that is a REST call; it works on synchronous and asynchronous clients."""

    def __init__(
        self,
        method: str,
        route: str,
        *,
        kind: Literal["read", "recall", "write"] | None = None,
        gives: AnswerForm = "json",
    ) -> None:
        self.method, self.route, self.gives = method, route, gives
        # A recall leaves a trace. Sent again after its answer was lost, it would leave a second one, so it is not.
        self.kind = kind or ("read" if method == "GET" else "write")

    def __call__(self, build: Callable[Concatenate[Any, P], CallArguments[T]]) -> _Bound[P, T]:
        return _Bound(self, build)

    def request(self, arguments: CallArguments[Any]) -> Request[Any]:
        path = {name: _segment(value) for name, value in arguments.path.items()}
        query = [(name, text) for name, value in arguments.query.items() for text in _texts(value)]
        url = PREFIX + self.route.format(**path)
        if query:
            url += "?" + "&".join(f"{quote(name)}={quote(value, safe='')}" for name, value in query)
        headers, body = {"Accept": "application/json" if self.gives == "json" else "*/*"}, arguments.content
        headers |= arguments.headers
        if arguments.content is not None:
            if isinstance(body, Path):
                headers["Content-Length"] = str(body.stat().st_size)
            headers.setdefault("Idempotency-Key", uuid.uuid4().hex)
        elif self.method != "GET":
            given = {name: value for name, value in (arguments.body or {}).items() if value is not None}
            given = {name: None if value is NULL else value for name, value in given.items()}
            if self.kind == "write":
                # Every write has a key, so that it can be sent again if its answer was lost, and takes effect once.
                headers["Idempotency-Key"] = given.pop("idempotency_key", None) or uuid.uuid4().hex
            body = json.dumps(given, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
            headers["Content-Type"] = "application/json"
        return Request(self.method, url, headers, body, self.gives, self.kind != "recall")


def _segment(value: str) -> str:
    """A name as a segment of a path. Dots are escaped: `..` would be resolved, and another call made."""
    return value.replace(".", "%2E") if value in (".", "..") else quote(value, safe="")


class _Bound(Generic[P, T]):
    """Descriptor of a call: on a synchronous client it returns the answer, on an asynchronous one an awaitable."""

    def __init__(self, declared: call, build: Callable[Concatenate[Any, P], CallArguments[T]]) -> None:
        self.call, self.build = declared, build
        functools.update_wrapper(self, build)  # type: ignore[arg-type]

    @overload
    def __get__(self, client: Sends, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncSends, owner: type) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, client: None, owner: type) -> _Bound[P, T]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self

        @functools.wraps(self.build)
        def send(*given: P.args, **named: P.kwargs) -> Any:
            return client.send(self.call.request(self.build(client, *given, **named)))

        return send


class Sends:
    """Interface of synchronous clients: sends a request and returns its answer."""

    def send(self, request: Request[T]) -> T:
        raise NotImplementedError


class AsyncSends:
    """Interface of asynchronous clients: sends a request and returns an awaitable of its answer."""

    async def send(self, request: Request[T]) -> T:
        raise NotImplementedError


def parsed(request: Request[T], status: int, headers: Mapping[str, str], body: bytes) -> Any:
    """Value of an answer, or the exception for a refusal (returned, not raised)."""
    if status != 200:
        return refusal(status, body, headers.get("retry-after"))
    if request.gives == "bytes":
        return body
    if request.gives == "text":
        return body.decode("utf-8", "replace")
    try:
        return json.loads(body)
    except ValueError:
        return NotUnderstood()


class RetryBudget:
    """Retries left for one call: at most `retries`, waiting at most `patience` seconds in total."""

    def __init__(self, retries: int, patience: float) -> None:
        self.left, self.until, self.next = retries, time.monotonic() + patience, FIRST_PAUSE

    def pause(self, request: Request[Any], error: FluxError) -> float | None:
        """Seconds to wait before the next try; None if the error is final."""
        if self.left <= 0 or not _can_retry(request, error):
            return None
        # Up to a quarter more or less, so that callers refused at the same time do not retry at the same time.
        pause = self.next * random.uniform(0.75, 1.25)  # noqa: S311
        if error.retry_after is not None:
            pause = max(pause, error.retry_after)
        if time.monotonic() + pause > self.until:
            return None
        self.left, self.next = self.left - 1, self.next * 2
        return pause


def _can_retry(request: Request[Any], error: FluxError) -> bool:
    if isinstance(error, Unreachable):
        return request.repeatable or not error.sent
    return error.status in RETRIED and not isinstance(error, NotUnderstood)


def _texts(value: Any) -> list[str]:
    """How a query says it: a list by repeating the parameter, None not at all."""
    if value is None:
        return []
    return [_plain(one) for one in value] if isinstance(value, list) else [_plain(value)]


def _plain(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
