"""Names of stores: which store a caller means, and which names capabilities have for it and for its files.

A caller names a store by its id, or by its key if its organisation, project and domain are the default ones. Scopes of
capabilities match `KEY/PATH` for such a store and `/ORG/PROJECT/DOMAIN/KEY/PATH` for any other; `KEY/` is the store as
a whole, and `KEY` its transcript.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from accounts import scopes
from accounts.authorise import may
from accounts.grant_request_hint import suggest_grant_request
from accounts.principals import Principal
from accounts.verbs import Asks
from flux import paths
from fluxcore.errors import Forbidden, Invalid, NotFound
from fluxcore.globs import MAX_PATTERN
from memory.artifacts.models import Store

_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_NO_REF = re.compile(r"[\x00\ud800-\udfff]")
DEFAULTS = {"org": "", "project": paths.DEFAULT, "domain": paths.DEFAULT}


def space_of(principal: Principal) -> int:
    if principal.space is None:
        raise Invalid("The space is missing: add space.", field="space")
    return principal.space


def as_uuid(ref: str) -> uuid.UUID | None:
    """The id that a caller gave, if it is one."""
    return uuid.UUID(ref) if _UUID.fullmatch(ref) else None


def find_store(principal: Principal, ref: str, *, deleted: bool = False) -> Store:
    """The store of that id or key; with `deleted` the last one that was deleted."""
    stores = Store.objects.filter(space=space_of(principal), deleted_at__isnull=not deleted, ended=False)
    number = as_uuid(checked_ref(ref))
    found = stores.filter(uuid=number).first() if number is not None else None
    if found is None:
        found = stores.filter(key=ref, **DEFAULTS).order_by("-id").first()
    if found is None:
        raise no_store(ref)
    return found


def checked_ref(ref: str) -> str:
    """What a caller gave for a store, if some store could have it; no database looks for other texts."""
    if _NO_REF.search(ref):
        raise no_store(_NO_REF.sub("\ufffd", ref))
    return ref


def no_store(ref: str) -> NotFound:
    return NotFound(f"There is no store {ref[:255]!r}. Create it first, or let the write create it.", store=ref[:255])


def target_of(org: str, project: str, domain: str, key: str) -> str:
    """What scopes of capabilities match for a store."""
    if {"org": org, "project": project, "domain": domain} == DEFAULTS:
        return key
    return f"/{org}/{project}/{domain}/{key}"


def target(store: Store) -> str:
    return target_of(store.org, store.project, store.domain, store.key)


def reference(store: Store) -> str:
    """How calls name a store: by its key, or by its id if its key alone does not name it."""
    usual = target(store) == store.key and as_uuid(store.key) is None
    return store.key if usual else str(store.uuid)


def target_of_ref(principal: Principal, ref: Any, *, deleted: bool = False) -> str:
    """The target of a store that may not exist. Only an id needs a look at the table; a key can have its form."""
    if not isinstance(ref, str):
        return ""
    if as_uuid(ref):
        with suppress(NotFound):
            return target(find_store(principal, ref, deleted=deleted))
    return ref


def asks(operation: str, *fields: str, deleted: bool = False) -> Asks:
    """What a call asks for: to do `operation` with each of the paths in `fields`, or without any with all files."""

    def of_call(principal: Principal, given: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
        if _has_all_or_none(principal, operation):
            return [(operation, None)]
        where = target_of_ref(principal, given.get("store"), deleted=deleted)
        return [(operation, f"{where}/{_text(given.get(name))}") for name in fields or ("",)]

    return of_call


def asks_for_transcript(operation: str) -> Asks:
    def of_call(principal: Principal, given: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
        if _has_all_or_none(principal, operation):
            return [(operation, None)]
        return [(operation, target_of_ref(principal, given.get("store")))]

    return of_call


def asks_for_some(operation: str) -> Asks:
    """What a list asks for: the operation for anything at all. It answers only what the caller may see."""

    def of_call(principal: Principal, given: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
        return [] if _has_some(principal, operation) else [(operation, None)]

    return of_call


def _has_all_or_none(principal: Principal, operation: str) -> bool:
    return may(principal, operation) or not _has_some(principal, operation)


def _has_some(principal: Principal, operation: str) -> bool:
    return may(principal, operation) or (principal.kind == "agent" and principal.capabilities.scoped(operation))


def _text(given: Any) -> str:
    return given if isinstance(given, str) else ""


def reader(principal: Principal, where: str) -> Callable[[str], bool]:
    """A function that tells whether the caller may read a path of a store; quick for many paths."""
    if may(principal, "artifacts.read"):
        return lambda path: True
    return partial(_may_read, principal, where)


def _may_read(principal: Principal, where: str, path: str) -> bool:
    return may(principal, "artifacts.read", f"{where}/{path}")


def sees(principal: Principal, where: str) -> bool:
    """Whether the caller may read any file of a store: all of them, or what some scope names below it."""
    return may(principal, "artifacts.read") or (
        principal.kind == "agent" and principal.capabilities.reaches("artifacts.read", f"{where}/")
    )


def may_below(principal: Principal, operation: str, where: str, folder: str) -> bool:
    """Whether the caller may do something with every file that a folder may have."""
    if principal.kind != "agent" or may(principal, operation):
        return may(principal, operation)
    wanted = scopes.literal(f"{where}/{folder}")
    while len(wanted) > MAX_PATTERN - 3 and "/" in wanted:  # then a folder above it
        wanted = wanted.rpartition("/")[0]
    return len(wanted) <= MAX_PATTERN - 3 and principal.capabilities.covers(f"{operation}:{wanted}/**")


def missing(principal: Principal, operation: str, wanted: str) -> Forbidden:
    """The refusal of an operation on a path, or with `/**` at its end on a folder."""
    name = f"{operation}:{wanted}"[:600]
    asked = wanted.removesuffix("/**")
    hint = suggest_grant_request(principal, operation, asked)
    if hint and asked != wanted:
        hint["ask"]["body"]["capability"] += "/**"
    return Forbidden(f"This needs the capability {name}.", missing=name, **hint)


def check_may(principal: Principal, operation: str, where: str, path: str) -> None:
    """Refuse an operation on a path of a store inside a running write; the verb records the refusal."""
    wanted = f"{where}/{path}"
    if not may(principal, operation, None if principal.kind != "agent" else wanted):
        raise missing(principal, operation, wanted)
