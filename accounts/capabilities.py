"""Capabilities of agents: `<domain>.<action>[@<namespace>][:<glob>]`. Nothing is allowed by default."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from accounts import scopes
from accounts.names import NAME
from fluxcore import globs
from fluxcore.errors import Invalid

# Operations whose targets have names, so that a glob can limit them.
SCOPED = {
    "memory": ("read", "write"),
    "bb": ("read", "write"),
    "artifacts": ("read", "write", "propose", "review"),
    "transcript": ("read", "write"),
}
UNSCOPED = {
    "grains": ("read", "write", "feedback", "manage"),
    "snapshots": ("create", "read"),
    "health": ("read",),
    "metrics": ("read",),
    "graph": ("export",),
}
OPERATIONS = frozenset(
    f"{domain}.{action}" for table in (SCOPED, UNSCOPED) for domain, actions in table.items() for action in actions
)
# Operations whose targets are in a namespace, which can be named: `memory.read@bob:notes/*`, `bb.write@ops`. Without
# one, `memory` is the agent's own memory and `bb` every board of its space. `@*` is any namespace.
ADDRESSED = frozenset({"memory.read", "memory.write", "bb.read", "bb.write"})
# Operations of people and the shell, never of tokens.
NEVER_FOR_AGENTS = frozenset(
    {
        "instance.manage",
        "people.enrol",
        "people.manage",
        "own.sessions",
        "own.secrets",
        "accounts.read",
        "accounts.manage",
        "jobs.read",
        "jobs.manage",
        "events.read",
        "audit.read",
        "purge",
        "restore",
        "import",
        "grant",
        "policy",
    }
)
# Operations that need a code from the last five minutes, because they change rights or cannot be undone.
NEED_FRESH_CODE = frozenset(
    {
        "instance.manage",
        "people.manage",
        "accounts.manage",
        "own.secrets",
        "purge",
        "restore",
        "import",
        "grant",
        "policy",
    }
)
MAX_CAPABILITIES = 256
_NAME = re.compile(NAME)


class Capabilities:
    """A parsed set of capabilities. With `within`, it allows only what both sets allow."""

    __slots__ = ("_everything", "_given", "_scopes", "_texts", "within")

    def __init__(self, texts: Iterable[str], within: Capabilities | None = None) -> None:
        given = self._given = tuple(sorted(set(texts)))
        self._texts: tuple[str, ...] | None = given if within is None else None
        self.within = within
        self._everything: set[str] = set()
        self._scopes: dict[str, list[str]] = {}
        for text in given:
            operation, scope = split(text)
            if scope is None or scope == "*":
                self._everything.add(operation)
            else:
                self._scopes.setdefault(operation, []).append(scope)

    @property
    def texts(self) -> tuple[str, ...]:
        """The effective capabilities as texts, computed when first read because that compares all scopes.

        The intersection of two globs that only overlap has no text and is left out.
        """
        if self._texts is None:
            self._texts = tuple(sorted(self._cut(self._given, self.within))) if self.within else self._given
        return self._texts

    def allow(self, operation: str, target: str | None = None) -> bool:
        if not self._allow(operation, target):
            return False
        return self.within is None or self.within.allow(operation, target)

    def _allow(self, operation: str, target: str | None) -> bool:
        for sufficient in sufficient_operations(operation):
            if sufficient in self._everything:
                return True
            if target is not None and any(globs.matches(scope, target) for scope in self._scopes.get(sufficient, ())):
                return True
        return False

    def scoped(self, operation: str) -> bool:
        """Whether the operation is allowed for some names at least."""
        if not any(name in self._everything or name in self._scopes for name in sufficient_operations(operation)):
            return False
        return self.within is None or self.within.scoped(operation)

    def reaches(self, operation: str, prefix: str) -> bool:
        """Whether the operation is allowed for some name that begins with the prefix."""
        for sufficient in sufficient_operations(operation):
            scopes_of = self._scopes.get(sufficient, ())
            if sufficient in self._everything or any(
                globs.compile_glob(one).matches_below(prefix) for one in scopes_of
            ):
                return self.within is None or self.within.reaches(operation, prefix)
        return False

    def literal_beginnings(self, operation: str) -> list[str]:
        """What every name for which the operation is allowed begins with: one of these, without wildcards."""
        held = sufficient_operations(operation)
        if any(name in self._everything for name in held):
            return self.within.literal_beginnings(operation) if self.within is not None else [""]
        return [globs.literal_beginning(scope) for name in held for scope in self._scopes.get(name, ())]

    def anywhere(self, operation: str) -> bool:
        """Whether the operation is allowed for some names in any namespace."""
        held = {without_namespace(name) for name in (*self._everything, *self._scopes)}
        return operation in held and (self.within is None or self.within.anywhere(operation))

    def covers(self, capability: str) -> bool:
        """Whether everything a capability allows is allowed here too. False if that cannot be proven."""
        return self._covers(capability) and self.leaves_room_for(capability)

    def leaves_room_for(self, capability: str) -> bool:
        """Whether the capability would be effective if it were added."""
        return self.within is None or self.within.covers(capability)

    def _covers(self, capability: str) -> bool:
        operation, scope = split(capability)
        held = sufficient_operations(operation)
        if any(name in self._everything for name in held):
            return True
        if scope is None or scope == "*":
            return False
        return any(scopes.within(scope, outer) for name in held for outer in self._scopes.get(name, ()))

    def _cut(self, given: Iterable[str], within: Capabilities) -> set[str]:
        whole = Capabilities(text for text in given if within.covers(text))
        return {*whole.texts, *(text for text in within.texts if self._covers(text) and not whole.covers(text))}


@lru_cache(maxsize=4096)
def sufficient_operations(operation: str) -> tuple[str, ...]:
    """The operations any of which allows this one, itself first."""
    base, at, whose = operation.partition("@")
    if not at:
        return (operation,)
    wider = () if whose == "*" else (f"{base}@*",)
    return (operation, *wider, *((base,) if base.startswith("bb.") else ()))


def without_namespace(operation: str) -> str:
    """The operation without the namespace it names."""
    return operation.partition("@")[0]


def split(text: str) -> tuple[str, str | None]:
    """Operation and scope of one capability; Invalid if it is not valid."""
    if not isinstance(text, str) or len(text) > 600:
        raise Invalid("A capability must be a text like grains.read or memory.write:notes/*.", field="capabilities")
    operation, colon, scope = text.partition(":")
    if operation in NEVER_FOR_AGENTS:
        raise Invalid(
            f"{operation} cannot be given to agents: it is only for people and the command line.", field="capabilities"
        )
    base, at, whose = operation.partition("@")
    if at and (base not in ADDRESSED or (whose != "*" and not _NAME.fullmatch(whose))):
        raise Invalid(
            f"{operation[:80]!r} names no namespace. {', '.join(sorted(ADDRESSED))} take one: memory.read@NAME.",
            field="capabilities",
        )
    if base not in OPERATIONS:
        raise Invalid(
            f"Unknown capability {operation[:80]!r}. Known: {', '.join(sorted(OPERATIONS))}.", field="capabilities"
        )
    if not colon:
        return operation, None
    if operation.split(".")[0] not in SCOPED and scope != "*":
        raise Invalid(f"{operation} takes no scope.", field="capabilities")
    globs.compile_glob(scope)
    return operation, scope


@lru_cache(maxsize=1024)
def parsed(texts: tuple[str, ...], within: tuple[tuple[str, ...], ...] = ()) -> Capabilities:
    """Parsed capabilities, cached by value; each layer of `within` limits those before it."""
    return Capabilities(texts, parsed(within[0], within[1:]) if within else None)


def check(texts: Iterable[str]) -> list[str]:
    """Check capabilities and return them as they are stored: sorted, without duplicates."""
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise Invalid("capabilities must be a list of texts like grains.read.", field="capabilities")
    found = sorted(set(texts))
    if len(found) > MAX_CAPABILITIES:
        raise Invalid(f"Too many capabilities: an agent has at most {MAX_CAPABILITIES}.", field="capabilities")
    for text in found:
        split(text)
    return found
