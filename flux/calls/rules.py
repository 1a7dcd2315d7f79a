"""Bounds of what calls take and the form of keys, for whoever needs them without loading pydantic."""

from __future__ import annotations

import unicodedata

MAX_KEY = 512  # characters of a key, a lock's or a queue's name
MAX_GLOB = 512  # characters of a pattern
MAX_NOTE = 200  # characters of the note on a lock
MAX_REASON = 500  # characters of a reason in the audit chain
MAX_IDEMPOTENCY_KEY = 128
MAX_VERSION = 2**53 - 1  # the largest whole number that every JSON reader keeps exactly
MAX_TTL_SECONDS = 10 * 365 * 86_400
MAX_LOCK_SECONDS = 86_400  # a day: a holder that is gone keeps nobody waiting longer
MAX_KEYS_PAGE = 1000
MAX_HISTORY_PAGE = 100
MAX_BATCH = 100
# Controls, halves of characters and what no text may hold: nobody could type or tell apart such a key.
_REFUSED = ("Cc", "Cs", "Cn")


def normal_key(key: str) -> str:
    """A key in its one normal form (NFC)."""
    if not key.isascii():
        key = unicodedata.normalize("NFC", key)
    if len(key) > MAX_KEY or (not key.isprintable() and any(unicodedata.category(one) in _REFUSED for one in key)):
        raise ValueError(f"a text of at most {MAX_KEY} characters without control characters")
    return key
