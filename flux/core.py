"""What both clients share: how a call becomes a request, an answer a value, and when to try again.

**Adding a room's methods.** Methods of calls that are declared in `flux/calls/` are written by `make docs`
(docs/adding-a-call.md). For the others write a class in `flux/rooms/` with one method per call, decorated with
`@call(METHOD, ROUTE)` and named as the call's operationId in the OpenAPI document. The method takes the call's
arguments and returns a `Said`: what stands in the address, the query and the body. Its annotation `-> Said[Answer]`
names the answer, a TypedDict in `flux/answers.py` with the keys of the document's schema. Then name the class in
`flux/rooms/__init__.py`. Both clients have the method from there on: `FluxClient` answers `Answer`, `AsyncFluxClient`
something to await. `tests/sdk/test_calls.py` fails while a call of the REST door has no method, or one says
something else than the document. An object of its own (`AgentMemory`, `Blackboard`) derives from its room's class
and `Through` or `AsyncThrough`, and sends what it says through the client it was made with.
"""

from __future__ import annotations

import functools
import json
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload
from urllib.parse import quote

from flux.errors import FluxError, NotUnderstood, Unreachable, refusal

P = ParamSpec("P")
T = TypeVar("T")

PREFIX = "/api/v1/"
MAX_ANSWER = 64 * 1024 * 1024  # bytes; anything larger is no answer of this API
FIRST_PAUSE = 0.2  # seconds before the second try; each later one waits twice as long
TRIED_AGAIN = frozenset({429, 503})  # refusals that pass; nothing was done yet, or the key says what was


class _Null:
    """JSON's null in a body, where a None is a field nobody gave."""


NULL = _Null()


@dataclass(frozen=True)
class CallArguments(Generic[T]):
    """What a method makes of its arguments. `T` is what the answer will be."""

    body: Mapping[str, Any] | None = None
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Request(Generic[T]):
    """A call that can be sent, the same way again if need be."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    text: bool  # the answer is text and not JSON
    repeatable: bool  # a second arrival changes nothing


class call:
    """A call of the REST door, bound to whichever client it is looked up on."""

    def __init__(
        self, method: str, route: str, *, kind: Literal["read", "ask", "write"] | None = None, text: bool = False
    ) -> None:
        self.method, self.route, self.text = method, route, text
        # An `ask` leaves a receipt: repeated after its answer was lost, it would leave a second one.
        self.kind = kind or ("read" if method == "GET" else "write")

    def __call__(self, build: Callable[Concatenate[Any, P], CallArguments[T]]) -> _Bound[P, T]:
        return _Bound(self, build)

    def request(self, said: CallArguments[Any]) -> Request[Any]:
        where = {name: _segment(value) for name, value in said.path.items()}
        asked = [(name, text) for name, value in said.query.items() for text in _texts(value)]
        url = PREFIX + self.route.format(**where)
        if asked:
            url += "?" + "&".join(f"{quote(name)}={quote(value, safe='')}" for name, value in asked)
        headers, body = {"Accept": "*/*" if self.text else "application/json"}, None
        if self.method != "GET":
            given = {name: value for name, value in (said.body or {}).items() if value is not None}
            given = {name: None if value is NULL else value for name, value in given.items()}
            if self.kind == "write":
                # Every write has a key, so that one whose answer was lost can be sent again and counts once.
                headers["Idempotency-Key"] = given.pop("idempotency_key", None) or uuid.uuid4().hex
            body = json.dumps(given, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
            headers["Content-Type"] = "application/json"
        return Request(self.method, url, headers, body, self.text, self.kind != "ask")


def _segment(value: str) -> str:
    """One name in an address. Dots alone would be taken for a way up, and the call for another one."""
    return value.replace(".", "%2E") if value in (".", "..") else quote(value, safe="")


class _Bound(Generic[P, T]):
    """The descriptor: on a sync client the answer itself, on an async one something to await."""

    def __init__(self, made: call, build: Callable[Concatenate[Any, P], CallArguments[T]]) -> None:
        self.call, self.build = made, build
        functools.update_wrapper(self, build)  # type: ignore[arg-type]

    @overload
    def __get__(self, one: Sends, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, one: AsyncSends, owner: type) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, one: None, owner: type) -> _Bound[P, T]: ...
    def __get__(self, one: Any, owner: type) -> Any:
        if one is None:
            return self

        @functools.wraps(self.build)
        def send(*given: P.args, **named: P.kwargs) -> Any:
            return one.send(self.call.request(self.build(one, *given, **named)))

        return send


class Sends:
    """Anything that sends a request and waits for its answer."""

    def send(self, request: Request[T]) -> T:
        raise NotImplementedError


class AsyncSends:
    """Anything that sends a request and can be awaited."""

    async def send(self, request: Request[T]) -> T:
        raise NotImplementedError


class Through(Sends):
    """An object of its own that speaks through a client."""

    def __init__(self, client: Sends) -> None:
        self.client = client

    def send(self, request: Request[T]) -> T:
        return self.client.send(request)


class AsyncThrough(AsyncSends):
    """An object of its own that speaks through an async client."""

    def __init__(self, client: AsyncSends) -> None:
        self.client = client

    async def send(self, request: Request[T]) -> T:
        return await self.client.send(request)


def parsed(request: Request[T], status: int, headers: Mapping[str, str], body: bytes) -> Any:
    """The value an answer carries, or the exception it stands for."""
    if status != 200:
        return refusal(status, body, headers.get("retry-after"))
    if request.text:
        return body.decode("utf-8", "replace")
    try:
        return json.loads(body)
    except ValueError:
        return NotUnderstood()


class RetryBudget:
    """How often and how long one call is tried: at most `retries` more times, waiting `patience` seconds in all."""

    def __init__(self, retries: int, patience: float) -> None:
        self.left, self.until, self.next = retries, time.monotonic() + patience, FIRST_PAUSE

    def pause(self, request: Request[Any], error: FluxError) -> float | None:
        """Seconds to wait before the next try, or None: raise it."""
        if self.left <= 0 or not _passes(request, error):
            return None
        # A quarter more or less, so that many callers refused at once do not come back at once.
        pause = self.next * random.uniform(0.75, 1.25)  # noqa: S311
        if error.retry_after is not None:
            pause = max(pause, error.retry_after)
        if time.monotonic() + pause > self.until:
            return None
        self.left, self.next = self.left - 1, self.next * 2
        return pause


def _passes(request: Request[Any], error: FluxError) -> bool:
    if isinstance(error, Unreachable):
        return request.repeatable or not error.sent
    return error.status in TRIED_AGAIN and not isinstance(error, NotUnderstood)


def _texts(value: Any) -> list[str]:
    """How a query says it: a list by repeating the parameter, None not at all."""
    if value is None:
        return []
    return [_plain(one) for one in value] if isinstance(value, list) else [_plain(value)]


def _plain(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
