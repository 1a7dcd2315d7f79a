"""Who may see which values of keys in recall, and where they are from.

A grain has the tags of its place (`agents/NAME` or `boards/NAME`, and `agents` or `boards`), by which a caller's rights
limit a recall. Whoever may read only some keys of a place is limited to the sessions of these keys.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any
from urllib.parse import quote

from accounts.authorise import may
from accounts.principals import Principal
from memory.grains import sources
from memory.keyvalue import expiry_clock
from memory.keyvalue.models import Item, Namespace, NamespaceKind, Revision, RevisionKind
from memory.keyvalue.namespaces import NamespaceName, is_recalled, reader, reads_something
from memory.passages.models import ValueSource

VALUE = "value"
MAX_KEYS = 20_000  # keys compared with scopes in one recall; values of others are not found
_READS = ("memory.read", "bb.read")


def session_of(item: int) -> str:
    """Session of the passages of a value, so that neighbouring passages are linked."""
    return f"key:{item}"


def tags_of(place: str) -> tuple[str, ...]:
    return (place.partition("/")[0], place)


def _name(namespace: Namespace) -> NamespaceName:
    return NamespaceName(namespace.kind, namespace.name)


def _reads_of(principal: Principal) -> list[str]:
    """Capabilities to read keys; with a colon where a scope limits them."""
    return [text.removesuffix(":*") for text in principal.capabilities.texts if text.startswith(_READS)]


class KeySource:
    """Values of keys of agents and boards."""

    def sessions(self, principal: Principal, space: int) -> Collection[str] | None:
        """None for people and the shell, who may read all; else the keys that scopes of capabilities reach."""
        if principal.kind != "agent":
            return None if all(may(principal, operation) for operation in _READS) else ()
        if not any(":" in text for text in _reads_of(principal)):
            return ()
        found: list[str] = []
        for namespace in Namespace.objects.filter(space=space, recalled__isnull=False):
            where = _name(namespace)
            if reads_something(principal, where) and not may(principal, where.operation(principal, "read")):
                found += self._keys(principal, namespace, where)
        return found

    def _keys(self, principal: Principal, namespace: Namespace, where: NamespaceName) -> list[str]:
        readable = reader(principal, where)
        items = Item.objects.filter(namespace=namespace, value__isnull=False).values_list("pk", "key")[:MAX_KEYS]
        return [session_of(pk) for pk, key in items if is_recalled(namespace.recalled, key) and readable(key)]

    def tags(self, principal: Principal, space: int) -> Collection[str]:
        """Places that the caller may read whole."""
        if principal.kind != "agent":
            return ()
        held = {text for text in _reads_of(principal) if ":" not in text}
        named = [text.split("@", 1) for text in sorted(held) if "@" in text]
        places = {"memory.read": "agents", "bb.read": "boards"}
        found = [places[base] if name == "*" else f"{places[base]}/{name}" for base, name in named]
        if "memory.read" in held:
            found.append(f"agents/{principal.name}")
        if "bb.read" in held:
            found.append("boards")
        return found

    def address(self, citation: dict[str, Any]) -> str:
        return f"/{citation['place']}/history/{quote(citation['key'])}?version={citation['version']}"

    def citations(
        self, principal: Principal, space: int, grains: Collection[int], as_of: datetime | None = None
    ) -> dict[int, dict[str, Any]]:
        rows = list(ValueSource.objects.filter(space=space, grain__in=list(grains)))
        items = (
            Item.objects.select_related("namespace").filter(namespace__space=space).in_bulk({row.item for row in rows})
        )
        now = expiry_clock.current() if rows else 0.0
        seen = {
            number: item
            for number, item in items.items()
            if _is_there(item, now) and reader(principal, _name(item.namespace))(item.key)
        }
        kept = _kept_versions([row for row in rows if row.item in seen and row.version != seen[row.item].version], now)
        return {
            row.grain_id: _citation(seen[row.item], row.version)
            for row in rows
            if row.item in seen and (row.version == seen[row.item].version or (row.item, row.version) in kept)
        }


def _is_there(item: Item, now: float) -> bool:
    """Whether a key has a value now and is recallable: one that expired or was deleted is never recalled again."""
    lives = item.value is not None and (item.expires is None or item.expires > now)
    return lives and is_recalled(item.namespace.recalled, item.key)


def _kept_versions(rows: Iterable[ValueSource], now: float) -> set[tuple[int, int]]:
    """Earlier versions, of these, that the history still has."""
    wanted = {(row.item, row.version) for row in rows}
    if not wanted:
        return set()
    kept = Revision.objects.filter(
        item__in={item for item, _ in wanted}, version__in={version for _, version in wanted}
    ).filter(kind=RevisionKind.WRITTEN, value__isnull=False)
    found = kept.values_list("item_id", "version", "expires")
    return wanted & {(item, version) for item, version, expires in found if expires is None or expires > now}


def _citation(item: Item, version: int) -> dict[str, Any]:
    """Where a value is from, as answers show it."""
    kind = "agents" if item.namespace.kind == NamespaceKind.AGENT.value else "boards"
    return {"place": f"{kind}/{item.namespace.name}", "key": item.key, "version": version}


def register() -> None:
    sources.register(VALUE, KeySource())
