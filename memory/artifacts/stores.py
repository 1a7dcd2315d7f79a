"""Verbs on stores: create, open, list, delete, restore, and change the policy."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db.models import Q

from accounts.authorise import may
from accounts.calls import handles
from accounts.models import Space
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall
from flux import paths
from flux.calls import stores as calls
from fluxcore import clock, config
from fluxcore.errors import AlreadyExists, Forbidden, Invalid, InvalidPath, NotFound, ReadOnlyPath
from memory.artifacts import hooks, jobs, names, proposals, quotas
from memory.artifacts.models import Store
from memory.artifacts.states import FileState, StoreState, read_state

DEFAULT_LIMIT = 50
_MAX_SCANNED = 2_000  # rows one list reads, however few of them the caller may see
_COORDINATES = ("org", "project", "domain", "key")


def _creates(principal: Principal, given: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """Capability of creating a store: to write the store as a whole."""
    if may(principal, "artifacts.write"):
        return [("artifacts.write", None)]
    named = {name: value for name in _COORDINATES if isinstance(value := given.get(name), str)}
    where = names.target_of(**{**names.DEFAULTS, "key": "", **named})
    return [("artifacts.write", f"{where}/")]


@handles(calls.CreateStore, asks=_creates)
def create_store(call: RunningCall, request: calls.CreateStore) -> Change:
    """Create a store. An existing one with the same coordinates is refused."""
    where = coordinates(call.principal, request)
    policy = _policy(request)
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        existing = _find(call.principal, where)
        if existing is not None:
            address = address_of(existing)
            raise AlreadyExists(
                f"The store {existing.key!r} already exists at {address}. Open it, or choose another key.",
                store=str(existing.uuid),
                path=address,
            )
        return store_facts(_create(call, where, policy))

    return change


@handles(calls.OpenStore, asks=_creates)
def open_store(call: RunningCall, request: calls.OpenStore) -> Change:
    """Open a store, or create it. The policy of an existing store is its own."""
    where = coordinates(call.principal, request)
    policy = _policy(request)
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        found = _find(call.principal, where)
        if found is not None:
            call.record(f"stores/{names.target(found)}", created=False)
            return {**store_facts(found), "created": False}
        return {**store_facts(_create(call, where, policy)), "created": True}

    return change


def coordinates(principal: Principal, request: calls.NewStore) -> dict[str, str]:
    """Organisation, project, domain and key of a request, checked. The organisation is empty if it is the space."""
    found = {"key": paths.checked_key(request.key)}
    for name in ("org", "project", "domain"):
        value = getattr(request, name)
        found[name] = names.DEFAULTS[name] if value is None else paths.checked_name(value, name)
    if found["org"] and Space.objects.filter(pk=names.space_of(principal), name=found["org"]).exists():
        found["org"] = ""
    return found


def _policy(request: calls.StorePolicy) -> dict[str, Any]:
    """The given parts of a policy as columns."""
    given = {
        name: getattr(request, name) for name in calls.StorePolicy.model_fields if name in request.model_fields_set
    }
    found = {name: value for name, value in given.items() if value is not None and name in _POLICY}
    if request.read_only_prefixes is not None:
        prefixes = sorted({paths.checked_prefix(prefix) for prefix in request.read_only_prefixes})
        if "" in prefixes:
            raise Invalid("read_only_prefixes must name folders or files.", field="read_only_prefixes")
        found["read_only"] = "\n".join(prefixes)
    if request.staging_prefix is not None:
        found["staging"] = proposals.checked_staging(request.staging_prefix)
    proposals.check_apart(found.get("staging", ""), found.get("read_only", ""))
    return found


_POLICY = (
    "audit",
    "keep_versions",
    "max_versions",
    "max_files",
    "max_bytes",
    "retention_days",
    "recallable",
    "ephemeral",
)
# Parts of a policy that are stored under another name, and as another value when they are removed.
_COLUMNS, _EMPTY = {"staging_prefix": "staging"}, {"staging_prefix": ""}


def _find(principal: Principal, where: dict[str, str]) -> Store | None:
    return Store.objects.filter(space=names.space_of(principal), deleted_at=None, **where).first()


def find_or_create(call: RunningCall, where: dict[str, str]) -> tuple[Store, bool]:
    """The store of those coordinates, created with the usual policy if there is none; and whether it was."""
    found = _find(call.principal, where)
    return (found, False) if found is not None else (_create(call, where, {}), True)


def _create(call: RunningCall, where: dict[str, str], policy: dict[str, Any]) -> Store:
    space = names.space_of(call.principal)
    number = names.as_uuid(where["key"])
    if number is not None and Store.objects.filter(space=space, uuid=number).exists():
        # An id comes first wherever a store is named, so nobody could name the new one.
        raise InvalidPath("The key is the id of another store. Choose another key.", field="key")
    store = Store.objects.create(
        space_id=space, **where, **policy, created_at=clock.now(), created_by=call.principal.actor
    )
    quotas.count_stores(space, 1)
    call.record(f"stores/{names.target(store)}", created=True, policy=policy)
    call.event("store.created", f"stores/{store.uuid}", {"store": str(store.uuid), "key": store.key})
    return store


def state_or_new(call: RunningCall, ref: str, path: str, *, create: bool) -> tuple[StoreState, FileState | None]:
    """A store and one of its files; with `create` an unknown store is made, under its key and the usual policy."""
    try:
        return read_state(call.principal, ref, path)
    except NotFound:
        if not create:
            raise
    where = {**names.DEFAULTS, "key": paths.checked_key(ref)}
    names.check_may(call.principal, "artifacts.write", ref, "")
    _create(call, where, {})
    return read_state(call.principal, ref, path)


@handles(calls.GetStore, asks=names.asks_for_some("artifacts.read"))
def get_store(principal: Principal, request: calls.GetStore) -> dict[str, Any]:
    store = names.find_store(principal, request.store)
    if not names.sees(principal, names.target(store)):
        raise names.no_store(request.store)
    return store_facts(store)


@handles(calls.ListStores, asks=names.asks_for_some("artifacts.read"))
def list_stores(principal: Principal, request: calls.ListStores) -> dict[str, Any]:
    """List a page of stores; only those of which the caller may read something."""
    limit = request.limit or DEFAULT_LIMIT
    wanted = Q(space=names.space_of(principal), deleted_at__isnull=not request.deleted, ended=False)
    for name in _COORDINATES:
        value = getattr(request, name)
        if value is not None:
            wanted &= Q(**{name: "" if name == "org" and value == _space_name(principal) else value})
    if request.cursor is not None:
        wanted &= Q(id__gt=int(request.cursor))
    found, last, more = list[Store](), None, False
    rows = Store.objects.filter(wanted).select_related("space").order_by("id")
    for scanned, store in enumerate(rows[: _MAX_SCANNED + 1].iterator()):
        if len(found) == limit or scanned == _MAX_SCANNED:
            more = True
            break
        last = store.pk
        if names.sees(principal, names.target(store)):
            found.append(store)
    facts = [store_facts(store) for store in found]
    return {"stores": facts, "count": len(facts), "next_cursor": str(last) if more else None}


def _space_name(principal: Principal) -> str:
    return Space.objects.values_list("name", flat=True).get(pk=names.space_of(principal))


@handles(calls.DeleteStore, asks=names.asks("artifacts.write"))
def delete_store(call: RunningCall, request: calls.DeleteStore) -> Change:
    """Delete a store. Its rows stay until the deletion can no longer be undone."""
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        store = names.find_store(call.principal, request.store)
        _refuse_others(call.principal, store)
        _refuse_protected(call.principal, store)
        store.deleted_at, store.deleted_by = clock.now(), call.principal.actor
        store.save(update_fields=["deleted_at", "deleted_by"])
        hooks.store_changed(store.pk)
        proposals.store_deleted(store.pk, at=store.deleted_at, by=call.principal.actor)
        call.record(f"stores/{names.target(store)}", files=store.files, messages=store.messages)
        call.event("store.deleted", f"stores/{store.uuid}", {"store": str(store.uuid), "key": store.key})
        until = store.deleted_at + timedelta(days=config.current().STORE_UNDELETE_DAYS)
        return {"store": str(store.uuid), "deleted": True, "kept_until": clock.rfc3339(until)}

    return change


@handles(calls.UndeleteStore, asks=names.asks("artifacts.write", deleted=True))
def undelete_store(call: RunningCall, request: calls.UndeleteStore) -> Change:
    """Restore a deleted store, unless another one has taken its coordinates."""
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        store = names.find_store(call.principal, request.store, deleted=True)
        _refuse_others(call.principal, store)
        other = _find(call.principal, {name: getattr(store, name) for name in _COORDINATES})
        if other is not None:
            raise AlreadyExists(
                f"Another store has the key {store.key!r} now. Delete it first, or keep both apart.",
                store=str(other.uuid),
            )
        proposals.store_restored(store.pk, deleted_at=store.deleted_at, by=call.principal.actor)
        store.deleted_at, store.deleted_by = None, ""
        store.save(update_fields=["deleted_at", "deleted_by"])
        hooks.store_changed(store.pk)
        call.record(f"stores/{names.target(store)}")
        call.event("store.restored", f"stores/{store.uuid}", {"store": str(store.uuid), "key": store.key})
        return store_facts(store)

    return change


def _refuse_others(principal: Principal, store: Store) -> None:
    """Agents delete and restore only stores they created; people any."""
    if principal.kind == "agent" and store.created_by != principal.actor:
        raise Forbidden(
            f"This store was created by {store.created_by}. Agents delete and restore only stores they created; people "
            "any.",
            store=str(store.uuid),
            created_by=store.created_by,
        )


def _refuse_protected(principal: Principal, store: Store) -> None:
    """Only people delete a store with read-only prefixes: an agent would create it again without them."""
    if principal.kind == "agent" and store.read_only:
        prefixes = store.read_only.split("\n")
        raise ReadOnlyPath(
            f"The store {store.key!r} has files that agents cannot write, so agents cannot delete it. Ask a person of "
            "the space to delete it.",
            store=str(store.uuid),
            read_only_prefixes=prefixes,
        )


@handles(calls.ChangePolicy)
def change_policy(call: RunningCall, request: calls.ChangePolicy) -> Change:
    """Change the policy of a store: only owners of the space and the command line do."""
    policy = _policy(request)
    cleared: dict[str, Any] = {_COLUMNS.get(name, name): _EMPTY.get(name) for name in request.without or ()}

    def change() -> dict[str, Any]:
        store = names.find_store(call.principal, request.store)
        was_recallable, staging, kept = store.recallable, store.staging, _keeps(store)
        for name, value in {**cleared, **policy}.items():
            setattr(store, name, value)
        proposals.check_apart(store.staging, store.read_only)
        store.save(update_fields=[*cleared, *policy])
        if store.staging != staging:
            proposals.staging_changed(store.pk, at=clock.now(), by=call.principal.actor)
        if (store.recallable, store.staging) != (was_recallable, staging):
            hooks.store_changed(store.pk)
        if _keeps(store) != kept:
            jobs.ask_to_sweep()
        call.record(f"stores/{names.target(store)}", changed={**cleared, **policy})
        call.event("store.policy", f"stores/{store.uuid}", {"store": str(store.uuid), "key": store.key})
        return store_facts(store)

    return change


def _keeps(store: Store) -> tuple[Any, ...]:
    """Which earlier versions the policy keeps."""
    return store.keep_versions, store.max_versions, store.retention_days


def address_of(store: Store) -> str:
    """Address of a store, as flyte computes it below its storage root."""
    return paths.remote_path("", store.org or store.space.name, store.project, store.domain, store.key)


def store_facts(store: Store) -> dict[str, Any]:
    """A store as answers show it."""
    org = store.org or store.space.name
    return {
        "store": str(store.uuid),
        "org": org,
        "project": store.project,
        "domain": store.domain,
        "key": store.key,
        "path": paths.remote_path("", org, store.project, store.domain, store.key),
        "read_only_prefixes": store.read_only.split("\n") if store.read_only else [],
        "staging_prefix": store.staging or None,
        "audit": store.audit,
        "keep_versions": store.keep_versions,
        "max_versions": store.max_versions,
        "max_files": store.max_files,
        "max_bytes": store.max_bytes,
        "retention_days": store.retention_days,
        "recallable": store.recallable,
        "ephemeral": store.ephemeral,
        "files": store.files,
        "bytes": store.bytes,
        "history_bytes": store.history_bytes,
        "messages": store.messages,
        "created_at": clock.rfc3339(store.created_at),
        "created_by": store.created_by,
        "deleted_at": clock.rfc3339(store.deleted_at) if store.deleted_at else None,
    }
