"""Where keys live, as callers name it (`agents/alice`, `boards/main`), and which capability opens it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from django.db import IntegrityError, transaction

from accounts.authorise import may
from accounts.capabilities import Capabilities
from accounts.models import Agent
from accounts.names import check_name
from accounts.principals import Principal
from fluxcore import clock, raw_sql
from fluxcore.errors import Invalid, NotFound
from memory.keyvalue import moment
from memory.keyvalue.models import Clockwork, Namespace

MAIN = "main"  # the board that is there without anybody making it
_KINDS = {"agents": Namespace.Kind.AGENT.value, "boards": Namespace.Kind.BOARD.value}
Action = Literal["read", "write"]


@dataclass(frozen=True)
class Place:
    """A namespace by name, before anybody has asked whether it is there."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}s/{self.name}"

    def operation(self, principal: Principal, action: Action) -> str:
        """What an agent must hold; roles of people and the shell know no single namespaces."""
        if self.kind == Namespace.Kind.BOARD.value:
            return f"bb.{action}@{self.name}" if principal.kind == "agent" else f"bb.{action}"
        if principal.kind == "agent" and principal.name != self.name:
            return f"memory.{action}@{self.name}"
        return f"memory.{action}"


def place(text: Any) -> Place:
    """`agents/NAME` or `boards/NAME`."""
    kind, slash, name = text.partition("/") if isinstance(text, str) else ("", "", "")
    if kind not in _KINDS or not slash:
        raise Invalid("Name a place: agents/NAME or boards/NAME.", field="place")
    return Place(_KINDS[kind], check_name(name, what="an agent" if kind == "agents" else "a board"))


def board(name: Any) -> Place:
    return Place(Namespace.Kind.BOARD.value, check_name(name, what="a board"))


def reader(principal: Principal, where: Place) -> Callable[[str], bool]:
    """Which keys the caller may read, decided once for many of them."""
    operation = where.operation(principal, "read")
    if may(principal, operation):
        return lambda key: True
    return partial(may, principal, operation)


def reads_something(principal: Principal, where: Place) -> bool:
    held: Capabilities = principal.capabilities
    operation = where.operation(principal, "read")
    return may(principal, operation) or (principal.kind == "agent" and held.scoped(operation))


@dataclass
class Room:
    """A namespace as a write finds it: its number, what it holds, and the moment of the write."""

    id: int
    where: Place
    ephemeral: bool
    keys: int
    bytes: int
    history: int  # bytes of earlier and present versions in the history
    floor: int
    now: float


# The clock's row is read along: whoever judges what has expired judges by the same clock.
CLOCK = f"LEFT JOIN {Clockwork._meta.db_table} c ON c.boot = %s"
_TABLE = Namespace._meta.db_table
_ROOM = (
    f"SELECT n.id, n.ephemeral, n.keys, n.bytes, n.history_bytes, n.floor, c.ahead FROM {_TABLE} n {CLOCK} "  # noqa: S608
    "WHERE n.space_id = %s AND n.kind = %s AND n.name = %s"
)


def room(principal: Principal, where: Place, *, make: bool) -> Room | None:
    """The namespace with its clock; `make` inside a write only. None: nothing was ever written there."""
    if principal.space is None:
        raise Invalid("Name a space.", field="space")
    found = raw_sql.read(_ROOM, [moment.boot(), principal.space, where.kind, where.name])
    if not found:
        if not make:
            absent(principal, where)
            return None
        _make(principal, where)
        found = raw_sql.read(_ROOM, [moment.boot(), principal.space, where.kind, where.name])
    number, ephemeral, keys, size, history, floor, ahead = found[0]
    if ahead is None and make:
        ahead = moment.begin()
    return Room(number, where, bool(ephemeral), keys, size, history, floor, moment.now(ahead))


def _make(principal: Principal, where: Place) -> None:
    agent = absent(principal, where)
    try:
        with transaction.atomic():
            Namespace.objects.create(
                space_id=principal.space or 0,
                kind=where.kind,
                name=where.name,
                agent=agent,
                created_at=clock.now(),
                created_by=principal.actor,
            )
    except IntegrityError:
        pass  # somebody else made it


def absent(principal: Principal, where: Place) -> Agent | None:
    """Whose namespace it would be; a refusal where there could be none."""
    if where.kind == Namespace.Kind.AGENT.value:
        agent = Agent.objects.filter(space=principal.space or 0, name=where.name).first()
        if agent is None:
            raise NotFound(f"There is no agent named {where.name!r} in this space.", agent=where.name)
        return agent
    if where.name != MAIN:
        raise NotFound(f"There is no board named {where.name!r}. Make it first.", board=where.name)
    return None
