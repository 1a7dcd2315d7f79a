"""Limits of fields, fields of operations and the normal form of keys; without pydantic, so importing it is quick."""

from __future__ import annotations

import unicodedata

MAX_KEY = 512  # characters of a key and of the names of locks and queues
MAX_GLOB = 512  # characters of a pattern
MAX_NOTE = 200  # characters of the note on a lock
MAX_REASON = 500  # characters of a reason in the audit chain
MAX_IDEMPOTENCY_KEY = 128
MAX_VERSION = 2**53 - 1  # the largest whole number that every JSON reader keeps exactly
MAX_TTL_SECONDS = 10 * 365 * 86_400
MAX_LOCK_SECONDS = 86_400  # a day: the longest that a lost holder can block a lock
MAX_KEYS_PAGE = 1000
MAX_HISTORY_PAGE = 100
MAX_BATCH = 100
# Fields that each operation takes beside the key and the expectations.
FIELDS_OF_OP: dict[str, tuple[str, ...]] = {
    "set": ("value", "ttl_secs", "keep_ttl", "fence"),
    "delete": ("fence",),
    "touch": ("ttl_secs", "fence"),
    "incr": ("by", "ttl_secs", "fence"),
    "append": ("value", "ttl_secs", "fence"),
    "patch": ("patch", "ttl_secs", "fence"),
    "restore": ("version", "ttl_secs", "fence"),
}
# Unicode categories a key may not contain: controls, surrogates and unassigned. Nobody could type such a key.
_REFUSED = ("Cc", "Cs", "Cn")


def normal_key(key: str) -> str:
    """A key in its one normal form (NFC)."""
    if not key.isascii():
        key = unicodedata.normalize("NFC", key)
    if len(key) > MAX_KEY or (not key.isprintable() and any(unicodedata.category(char) in _REFUSED for char in key)):
        raise ValueError(f"a text of at most {MAX_KEY} characters without control characters")
    return key
