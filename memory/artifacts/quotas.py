"""Limits of stores: writes per minute, stores and bytes of a space, files and bytes of a store."""

from __future__ import annotations

from django.db import connection

from accounts.verbs import RunningCall
from fluxcore import config
from fluxcore.writes import limit_messages
from fluxcore.writes.limits import Ticket
from memory.artifacts.models import Store, StoreUsage
from memory.artifacts.states import StoreState

_USAGE = StoreUsage._meta.db_table
_COUNT = (
    f"INSERT INTO {_USAGE} (space_id, stores, bytes) VALUES (%s, %s, %s) "  # noqa: S608
    f"ON CONFLICT (space_id) DO UPDATE SET stores = {_USAGE}.stores + excluded.stores, "
    f"bytes = {_USAGE}.bytes + excluded.bytes RETURNING stores, bytes"
)
_COUNT_IN_STORE = (
    f"UPDATE {Store._meta.db_table} SET files = files + %s, bytes = bytes + %s, "  # noqa: S608
    "history_bytes = history_bytes + %s, messages = messages + %s, message_bytes = message_bytes + %s WHERE id = %s"
)


_MEBIBYTE = 1024 * 1024
DELETE_FILE = "Delete a file first"
_MESSAGES_COUNT = "removed messages count until they can no longer be restored"
_KEPT = (
    f"Deleted files count as long as their versions are kept, and {_MESSAGES_COUNT}; a lower max_versions or "
    "retention_days makes room"
)
_NOT_KEPT = f"Delete a file first; {_MESSAGES_COUNT}"


def share(call: RunningCall, cost: int = 1) -> Ticket:
    """Ticket of the limit on files and messages per minute, to be taken inside the write."""
    return call.share("files", cost=cost, limit=config.current().MAX_FILE_WRITES_PER_MINUTE)


def cost_of(size: int) -> int:
    """What the write of a content counts: once for each MiB, because replaced blobs stay on the disk for a day."""
    return min(1 + size // _MEBIBYTE, config.current().MAX_FILE_WRITES_PER_MINUTE)


def count_stores(space: int, stores: int) -> None:
    """Count created or removed stores of a space; refuses too many."""
    total, _ = _count_in_space(space, stores, 0)
    limit = config.current().MAX_STORES_PER_SPACE
    if stores > 0 and total > limit:
        raise limit_messages.quota_reached(
            "The space",
            limit=limit,
            what="stores",
            raised_by="MAX_STORES_PER_SPACE",
            do="Delete a store first; deleted ones count until they can no longer be restored",
        )


def count_in_store(
    space: int, store: int, *, files: int = 0, size: int = 0, history: int = 0, messages: int = 0, message_size: int = 0
) -> None:
    """Add to the counts of a store and of its space, inside the write; refuses what goes past the space's limit."""
    if files or size or history or messages or message_size:
        with connection.cursor() as cursor:
            cursor.execute(_COUNT_IN_STORE, [files, size, history, messages, message_size, store])
    grown = size + history + message_size
    if not grown:
        return
    _, total = _count_in_space(space, 0, grown)
    if grown > 0:
        _refuse_above_limit(total)


def check_space(space: int, size: int) -> None:
    """Refuse bytes for which the space has no room now; the write counts them."""
    used = StoreUsage.objects.filter(pk=space).values_list("bytes", flat=True).first() or 0
    _refuse_above_limit(used + size)


def _refuse_above_limit(total: int) -> None:
    limit = config.current().MAX_STORE_BYTES_PER_SPACE
    if total > limit:
        raise limit_messages.quota_reached(
            "The space",
            limit=limit,
            what="bytes in stores",
            raised_by="MAX_STORE_BYTES_PER_SPACE",
            do="Let an owner set max_versions or retention_days of a store, which removes earlier versions, or delete "
            "a store; deleted ones count until they can no longer be restored",
        )


def _count_in_space(space: int, stores: int, size: int) -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [space, stores, size])
        total: tuple[int, int] = cursor.fetchone()
    return total


def check_room(store: StoreState, *, files: int, size: int) -> None:
    """Refuse what goes past the policy of a store: its files, and its bytes with earlier versions and messages."""
    held = store.bytes + store.history_bytes + store.message_bytes
    most = config.current().MAX_STORE_FILES
    policy = store.max_files if store.max_files is not None and store.max_files < most else None
    where = f"The store {store.target}"
    if files > 0 and policy is not None and store.files + files > policy:
        raise limit_messages.policy_reached(
            where, limit=policy, what="files", policy="max_files", do=DELETE_FILE, store=store.ref
        )
    if files > 0 and store.files + files > most:
        raise limit_messages.quota_reached(where, limit=most, what="files", raised_by="MAX_STORE_FILES", do=DELETE_FILE)
    if size > 0 and store.max_bytes is not None and held + size > store.max_bytes:
        raise limit_messages.policy_reached(
            where,
            limit=store.max_bytes,
            what="bytes",
            policy="max_bytes",
            do=_KEPT if store.keep_versions else _NOT_KEPT,
            store=store.ref,
        )
