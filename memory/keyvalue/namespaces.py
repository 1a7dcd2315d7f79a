"""Namespaces of keys (`agents/alice`, `boards/main`): parse names, find or create rows, name capabilities."""

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

MAIN = "main"  # the board that need not be created
_KINDS = {"agents": NamespaceKind.AGENT.value, "boards": NamespaceKind.BOARD.value}
Action = Literal["read", "write"]


@dataclass(frozen=True)
class NamespaceName:
    """Kind and name of a namespace, whether it exists or not."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}s/{self.name}"

    def operation(self, principal: Principal, action: Action) -> str:
        """The capability for reading or writing there. People and the shell have it for all namespaces of a kind."""
        if self.kind == NamespaceKind.BOARD.value:
            return f"bb.{action}@{self.name}" if principal.kind == "agent" else f"bb.{action}"
        if principal.kind == "agent" and principal.name != self.name:
            return f"memory.{action}@{self.name}"
        return f"memory.{action}"


_MAIN_BOARD = NamespaceName(NamespaceKind.BOARD.value, MAIN)


def place(text: Any) -> NamespaceName:
    """Parse a place: `agents/NAME` or `boards/NAME`."""
    return _parsed(text if isinstance(text, str) else "")


@lru_cache(maxsize=4096)  # each call parses its place twice: for its capabilities and in its handler
def _parsed(text: str) -> NamespaceName:
    kind, slash, name = text.partition("/")
    if kind not in _KINDS or not slash:
        raise Invalid("place must be agents/NAME or boards/NAME.", field="place")
    return NamespaceName(_KINDS[kind], check_name(name, what="an agent" if kind == "agents" else "a board"))


def board(name: Any) -> NamespaceName:
    """The name of a board; None means `main`."""
    if name is None:
        return _MAIN_BOARD
    return NamespaceName(NamespaceKind.BOARD.value, check_name(name, what="a board"))


def reader(principal: Principal, where: NamespaceName) -> Callable[[str], bool]:
    """A function that tells whether the caller may read a key; quick for many keys."""
    operation = where.operation(principal, "read")
    if may(principal, operation):
        return lambda key: True
    return partial(may, principal, operation)


def reads_something(principal: Principal, where: NamespaceName) -> bool:
    """Whether the caller may read any key there."""
    capabilities: Capabilities = principal.capabilities
    operation = where.operation(principal, "read")
    return may(principal, operation) or (principal.kind == "agent" and capabilities.scoped(operation))


@dataclass
class OpenNamespace:
    """A namespace as a call finds it: row id, counts, and the current time by the clock of expiry."""

    id: int
    where: NamespaceName
    ephemeral: bool
    keys: int
    bytes: int
    history: int  # bytes of all revisions
    floor: int
    recalled: str | None  # as in the table
    now: float

    def recalls(self, key: str) -> bool:
        """Whether recall finds the value of a key."""
        return is_recalled(self.recalled, key)


def is_recalled(recalled: str | None, key: str) -> bool:
    """Whether a key begins as `Namespace.recalled` says."""
    return recalled is not None and key.startswith(tuple(recalled.split("\n")))


# Joins the row of the clock of expiry, so that one query reads namespace and time.
CLOCK = f"LEFT JOIN {ExpiryClock._meta.db_table} c ON c.boot = %s"
_TABLE = Namespace._meta.db_table
_NAMESPACE = (
    f"SELECT n.id, n.ephemeral, n.keys, n.bytes, n.history_bytes, n.floor, n.recalled, c.ahead "  # noqa: S608
    f"FROM {_TABLE} n {CLOCK} "
    "WHERE n.space_id = %s AND n.kind = %s AND n.name = %s"
)


def find_namespace(principal: Principal, where: NamespaceName) -> OpenNamespace | None:
    """Read the namespace; None if nothing was ever written there, NotFound if its agent or board does not exist."""
    row = _read_row(principal, where)
    if row is None:
        find_owner(principal, where)
        return None
    return _opened(where, row)


def open_namespace(principal: Principal, where: NamespaceName) -> OpenNamespace:
    """Read the namespace inside a write. Creates its row, and the row of the clock of expiry, if they are missing."""
    row = _read_row(principal, where)
    if row is None:
        _create(principal, where)
        row = _read_row(principal, where)
    if row is None:
        raise TypeError(str(where))
    if row[-1] is None:
        row = (*row[:-1], expiry_clock.begin())
    return _opened(where, row)


def _read_row(principal: Principal, where: NamespaceName) -> tuple[Any, ...] | None:
    if principal.space is None:
        raise Invalid("The space is missing: add space.", field="space")
    rows = raw_sql.read(_NAMESPACE, [expiry_clock.boot(), principal.space, where.kind, where.name])
    return rows[0] if rows else None


def _opened(where: NamespaceName, row: tuple[Any, ...]) -> OpenNamespace:
    number, ephemeral, keys, size, history, floor, recalled, ahead = row
    return OpenNamespace(number, where, bool(ephemeral), keys, size, history, floor, recalled, expiry_clock.now(ahead))


def _create(principal: Principal, where: NamespaceName) -> None:
    agent = find_owner(principal, where)
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
        pass  # another process created it


def find_owner(principal: Principal, where: NamespaceName) -> Agent | None:
    """The agent of a namespace without a row; None for the board main. NotFound if agent or board does not exist."""
    if where.kind == NamespaceKind.AGENT.value:
        agent = Agent.objects.filter(space=principal.space or 0, name=where.name).first()
        if agent is None:
            raise NotFound(f"There is no agent named {where.name!r} in this space.", agent=where.name)
        return agent
    if where.name != MAIN:
        raise NotFound(f"There is no board named {where.name!r}. Create it first.", board=where.name)
    return None
