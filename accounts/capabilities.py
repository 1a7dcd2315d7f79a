"""What an agent may do: `<domain>.<action>[:<glob>]`. Nothing is allowed by default."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from fluxcore import globs
from fluxcore.errors import Invalid

# Operations whose targets have names, so that a glob can narrow them.
SCOPED = {
    "memory": ("read", "write"),
    "bb": ("read", "write"),
    "artifacts": ("read", "write", "propose"),
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
# For people with a fresh code and for the shell; no token ever carries them.
NEVER_FOR_AGENTS = frozenset(
    {
        "instance.manage",
        "accounts.manage",
        "people.enrol",
        "jobs.manage",
        "audit.read",
        "purge",
        "restore",
        "import",
        "grant",
        "policy",
    }
)
MAX_CAPABILITIES = 256


class Capabilities:
    """A parsed set, ready to answer quickly."""

    __slots__ = ("_everything", "_scopes", "texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(sorted(set(texts)))
        self._everything: set[str] = set()
        self._scopes: dict[str, list[str]] = {}
        for text in self.texts:
            operation, scope = split(text)
            if scope is None or scope == "*":
                self._everything.add(operation)
            else:
                self._scopes.setdefault(operation, []).append(scope)

    def allow(self, operation: str, target: str | None = None) -> bool:
        if operation in self._everything:
            return True
        if target is None:
            return False
        return any(globs.matches(scope, target) for scope in self._scopes.get(operation, ()))


def split(text: str) -> tuple[str, str | None]:
    """Operation and scope of one capability, or a refusal that says what is wrong with it."""
    if not isinstance(text, str) or len(text) > 600:
        raise Invalid("A capability is a text like grains.read or memory.write:notes/*.", field="capabilities")
    operation, colon, scope = text.partition(":")
    if operation in NEVER_FOR_AGENTS:
        raise Invalid(f"{operation} is for people and the shell, never for agents.", field="capabilities")
    if operation not in OPERATIONS:
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
def parsed(texts: tuple[str, ...]) -> Capabilities:
    return Capabilities(texts)


def check(texts: Iterable[str]) -> list[str]:
    """The capabilities as they are stored: valid, sorted, without repeats."""
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise Invalid("Capabilities are a list of texts like grains.read.", field="capabilities")
    found = sorted(set(texts))
    if len(found) > MAX_CAPABILITIES:
        raise Invalid(f"An agent holds at most {MAX_CAPABILITIES} capabilities.", field="capabilities")
    for text in found:
        split(text)
    return found
