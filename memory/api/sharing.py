"""What agents share over REST: boards, the locks on them and the queues of work."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from accounts.verbs import Verb
from fluxcore.errors import Invalid
from memory.api import exact_shapes, parsers
from memory.api import sharing_shapes as shapes
from memory.api.common_serializers import WRITE_HEADERS
from memory.api.views import RestView, json_answer, principal, write_options
from memory.keyvalue import boards, locks, queues


def _called(request: Request, verb: Verb, required: tuple[str, ...], optional: tuple[str, ...]) -> HttpResponse:
    """The body's fields, as the verb takes them."""
    value = parsers.body(request, (*required, *optional, "reason", "idempotency_key"))
    for name in required:
        if name not in value:
            raise Invalid(f"{name} is missing.", field=name)
    given: dict[str, Any] = {name: value[name] for name in (*required, *optional) if name in value}
    given = {name: found for name, found in given.items() if found is not None or name == "value"}
    return json_answer(verb(principal(request, value), **given, **write_options(request, value)))


class Boards(RestView):
    @extend_schema(operation_id="list_boards", responses=shapes.Boards)
    def get(self, request: Request) -> HttpResponse:
        """The boards on which you may read something."""
        parsers.query(request, ())
        return json_answer(boards.listed(principal(request)))

    @extend_schema(
        operation_id="make_board", request=shapes.MakeBoard, responses=shapes.MadeBoard, parameters=WRITE_HEADERS
    )
    def post(self, request: Request) -> HttpResponse:
        """A new board; an ephemeral one is emptied whenever the instance starts."""
        return _called(request, boards.make, ("board",), ("ephemeral",))


class Board(RestView):
    @extend_schema(
        operation_id="delete_board",
        responses={200: shapes.DeletedBoard},
        parameters=[*exact_shapes.named("board"), *WRITE_HEADERS],
    )
    def delete(self, request: Request, board: str) -> HttpResponse:
        """Delete a board that you made, with its keys, their history, its locks and its tasks."""
        parsers.query(request, ())
        value = parsers.optional_body(request, ("reason", "idempotency_key"), ())
        return json_answer(boards.delete(principal(request, value), board=board, **write_options(request, value)))


class Locks(RestView):
    @extend_schema(operation_id="list_locks", responses=shapes.Locks, parameters=shapes.LOCK_PARAMETERS)
    def get(self, request: Request) -> HttpResponse:
        """The locks somebody holds: only those you may read."""
        return json_answer(locks.listed(principal(request), **parsers.query(request, ("board", "pattern"))))

    @extend_schema(operation_id="acquire_lock", request=shapes.Acquire, responses=shapes.Lock, parameters=WRITE_HEADERS)
    def post(self, request: Request) -> HttpResponse:
        """Take a lock, or hear who holds it. Its token grows with each holder: send it with what you do."""
        return _called(request, locks.acquire, ("lock",), ("board", "ttl_secs", "note"))


class RenewLock(RestView):
    @extend_schema(operation_id="renew_lock", request=shapes.Renew, responses=shapes.Lock, parameters=WRITE_HEADERS)
    def post(self, request: Request) -> HttpResponse:
        """Hold a lock longer. Refused once somebody else could have taken it."""
        return _called(request, locks.renew, ("lock", "token"), ("board", "ttl_secs"))


class ReleaseLock(RestView):
    @extend_schema(operation_id="release_lock", request=shapes.Release, responses=shapes.Lock, parameters=WRITE_HEADERS)
    def post(self, request: Request) -> HttpResponse:
        """Let a lock go."""
        return _called(request, locks.release, ("lock", "token"), ("board",))


class Queues(RestView):
    @extend_schema(operation_id="list_queues", responses=shapes.Queues, parameters=shapes.BOARD)
    def get(self, request: Request) -> HttpResponse:
        """The queues of a board, with what waits in them."""
        return json_answer(queues.listed(principal(request), **parsers.query(request, ("board",))))

    @extend_schema(operation_id="add_task", request=shapes.AddTask, responses=shapes.Task, parameters=WRITE_HEADERS)
    def post(self, request: Request) -> HttpResponse:
        """Put a task at the end of a queue."""
        return _called(request, queues.add, ("queue", "value"), ("board",))


class Claim(RestView):
    @extend_schema(operation_id="claim_task", request=shapes.Claim, responses=shapes.Claimed, parameters=WRITE_HEADERS)
    def post(self, request: Request) -> HttpResponse:
        """Take the oldest task nobody has; `task` is null where there is none."""
        return _called(request, queues.claim, ("queue",), ("board", "ttl_secs"))


def _finishing(name: str, verb: Verb, *more: str) -> Any:
    """A call on a task that was claimed."""

    def post(self: RestView, request: Request) -> HttpResponse:
        return _called(request, verb, ("queue", "task", "token"), ("board", *more))

    post.__doc__ = verb.__doc__
    shape = shapes.RenewTask if more else shapes.OfTask
    described = extend_schema(
        operation_id=f"{name}_task", request=shape, responses=shapes.Finished, parameters=WRITE_HEADERS
    )(post)
    return type(f"{name.capitalize()}Task", (RestView,), {"post": described}).as_view()  # type: ignore[attr-defined]


CALLS = [
    ("boards", Boards.as_view()),
    ("boards/<str:board>", Board.as_view()),
    ("locks", Locks.as_view()),
    ("locks/renew", RenewLock.as_view()),
    ("locks/release", ReleaseLock.as_view()),
    ("queues", Queues.as_view()),
    ("queues/claim", Claim.as_view()),
    ("queues/done", _finishing("finish", queues.done)),
    ("queues/renew", _finishing("renew", queues.renew, "ttl_secs")),
    ("queues/release", _finishing("release", queues.release)),
]
