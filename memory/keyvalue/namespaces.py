"""Where keys live, as callers name it (`agents/alice`, `boards/main`), and which capability opens it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal

from django.db import IntegrityError, transaction

from accounts.authorise import may
from accounts.capabilities import Capabilities
from accounts.models import Agent
from accounts.names import check_name
from accounts.principals import Principal
from fluxcore import clock, raw_sql
from fluxcore.errors import Invalid, NotFound
from memory.keyvalue import expiry_clock
from memory.keyvalue.models import ExpiryClock, Namespace, NamespaceKind

MAIN = "main"  # the board that is there without anybody making it
_KINDS = {"agents": NamespaceKind.AGENT.value, "boards": NamespaceKind.BOARD.value}
Action = Literal["read", "write"]


@dataclass(frozen=True)
class NamespaceName:
    """A namespace by name, before anybody has asked whether it is there."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}s/{self.name}"

    def operation(self, principal: Principal, action: Action) -> str:
        """What an agent must hold; roles of people and the shell know no single namespaces."""
        if self.kind == NamespaceKind.BOARD.value:
            return f"bb.{action}@{self.name}" if principal.kind == "agent" else f"bb.{action}"
        if principal.kind == "agent" and principal.name != self.name:
            return f"memory.{action}@{self.name}"
        return f"memory.{action}"


_MAIN_BOARD = NamespaceName(NamespaceKind.BOARD.value, MAIN)


def place(text: Any) -> NamespaceName:
    """`agents/NAME` or `boards/NAME`."""
    return _parsed(text if isinstance(text, str) else "")


@lru_cache(maxsize=4096)  # asked for twice in each call: who may, and then where
def _parsed(text: str) -> NamespaceName:
    kind, slash, name = text.partition("/")
    if kind not in _KINDS or not slash:
        raise Invalid("Name a place: agents/NAME or boards/NAME.", field="place")
    return NamespaceName(_KINDS[kind], check_name(name, what="an agent" if kind == "agents" else "a board"))


def board(name: Any) -> NamespaceName:
    """A board by its name; None is the one that is always there."""
    if name is None:
        return _MAIN_BOARD
    return NamespaceName(NamespaceKind.BOARD.value, check_name(name, what="a board"))


def reader(principal: Principal, where: NamespaceName) -> Callable[[str], bool]:
    """Which keys the caller may read, decided once for many of them."""
    operation = where.operation(principal, "read")
    if may(principal, operation):
        return lambda key: True
    return partial(may, principal, operation)


def reads_something(principal: Principal, where: NamespaceName) -> bool:
    held: Capabilities = principal.capabilities
    operation = where.operation(principal, "read")
    return may(principal, operation) or (principal.kind == "agent" and held.scoped(operation))


@dataclass
class OpenNamespace:
    """A namespace as a write finds it: its number, what it holds, and the moment of the write."""

    id: int
    where: NamespaceName
    ephemeral: bool
    keys: int
    bytes: int
    history: int  # bytes of earlier and present versions in the history
    floor: int
    now: float


# The clock's row is read along: whoever judges what has expired judges by the same clock.
CLOCK = f"LEFT JOIN {ExpiryClock._meta.db_table} c ON c.boot = %s"
_TABLE = Namespace._meta.db_table
_NAMESPACE = (
    f"SELECT n.id, n.ephemeral, n.keys, n.bytes, n.history_bytes, n.floor, c.ahead FROM {_TABLE} n {CLOCK} "  # noqa: S608
    "WHERE n.space_id = %s AND n.kind = %s AND n.name = %s"
)


def find_namespace(principal: Principal, where: NamespaceName) -> OpenNamespace | None:
    """The namespace with its clock. None: nothing was ever written there."""
    found = _row(principal, where)
    if found is None:
        absent(principal, where)
        return None
    return _opened(where, found)


def open_namespace(principal: Principal, where: NamespaceName) -> OpenNamespace:
    """The same inside a write, which makes what is missing: the namespace and the row of its clock."""
    found = _row(principal, where)
    if found is None:
        _make(principal, where)
        found = _row(principal, where)
    if found is None:
        raise TypeError(str(where))
    if found[-1] is None:
        found = (*found[:-1], expiry_clock.begin())
    return _opened(where, found)


def _row(principal: Principal, where: NamespaceName) -> tuple[Any, ...] | None:
    if principal.space is None:
        raise Invalid("Name a space.", field="space")
    found = raw_sql.read(_NAMESPACE, [expiry_clock.boot(), principal.space, where.kind, where.name])
    return found[0] if found else None


def _opened(where: NamespaceName, row: tuple[Any, ...]) -> OpenNamespace:
    number, ephemeral, keys, size, history, floor, ahead = row
    return OpenNamespace(number, where, bool(ephemeral), keys, size, history, floor, expiry_clock.now(ahead))


def _make(principal: Principal, where: NamespaceName) -> None:
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


def absent(principal: Principal, where: NamespaceName) -> Agent | None:
    """Whose namespace it would be; a refusal where there could be none."""
    if where.kind == NamespaceKind.AGENT.value:
        agent = Agent.objects.filter(space=principal.space or 0, name=where.name).first()
        if agent is None:
            raise NotFound(f"There is no agent named {where.name!r} in this space.", agent=where.name)
        return agent
    if where.name != MAIN:
        raise NotFound(f"There is no board named {where.name!r}. Make it first.", board=where.name)
    return None
