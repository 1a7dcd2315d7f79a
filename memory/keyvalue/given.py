"""What callers give: keys, values, lifetimes and expectations, each checked once and refused in the same words."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from dataclasses import dataclass
from typing import Any

from fluxcore import config
from fluxcore.canonical_json import dumps, loads, refuse_surrogates
from fluxcore.errors import BadJSON, Invalid
from fluxcore.globs import compile_glob
from fluxcore.writes import limit_messages
from fluxcore.writes.preconditions import UNSET, Precondition
from memory.keyvalue.models import MAX_KEY

MAX_TTL_SECONDS = 10 * 365 * 86_400
MAX_LOCK_SECONDS = 86_400  # a day: a holder that is gone keeps nobody waiting longer
MAX_VERSION = 2**53 - 1
# Controls, halves of characters and what no text may hold: nobody could type or tell apart such a key.
_REFUSED = ("Cc", "Cs", "Cn")


def check_key(key: object, *, name: str = "key") -> str:
    """A name in its one normal form (NFC)."""
    if not isinstance(key, str) or key == "":
        raise Invalid(f"A {name} is a text of 1 to {MAX_KEY} characters.", field=name)
    if len(key) > MAX_KEY:
        raise Invalid(f"A {name} has at most {MAX_KEY} characters.", field=name, limit=MAX_KEY)
    if not key.isascii():
        key = unicodedata.normalize("NFC", key)
    if len(key) > MAX_KEY or (not key.isprintable() and any(unicodedata.category(one) in _REFUSED for one in key)):
        raise Invalid(f"A {name} has at most {MAX_KEY} characters and no control characters.", field=name)
    return key


def check_pattern(pattern: str) -> str:
    """A glob in the normal form of the keys, so that it finds what its writer sees."""
    compile_glob(pattern)
    return unicodedata.normalize("NFC", pattern)


@dataclass(frozen=True)
class Value:
    """A value as it is kept: canonical JSON, its digest and its bytes."""

    text: str
    sha: str
    size: int


def check_value(value: Any, *, name: str = "value") -> Value:
    try:
        text = dumps(value)
    except (ValueError, TypeError, RecursionError):
        raise Invalid(f"{name} is no JSON: NaN, infinities and foreign types have none.", field=name) from None
    if not text.isascii():
        refuse_surrogates(text, name=name)
    raw = text.encode()
    limit = config.current().MAX_KV_VALUE_BYTES
    if len(raw) > limit:
        raise limit_messages.too_large(
            "A value as canonical JSON", limit=limit, raised_by="MAX_KV_VALUE_BYTES", bytes=len(raw)
        )
    try:
        loads(raw)  # not every door reads as strictly, and steps make values larger: what is kept must be read again
    except BadJSON as refusal:
        raise Invalid(f"{name} could not be read again. {refusal.message}", field=name) from None
    return Value(text, hashlib.sha256(raw).hexdigest(), len(raw))


def sha_of(value: Any) -> str:
    try:
        return hashlib.sha256(dumps(value).encode()).hexdigest()
    except (ValueError, TypeError, RecursionError):
        raise Invalid("expected_value is no JSON.", field="expected_value") from None


def value_of(text: str) -> Any:
    return loads(text.encode())


def check_ttl(ttl_secs: Any, *, name: str = "ttl_secs", most: int = MAX_TTL_SECONDS) -> float | None:
    """Seconds to live, at most `most`; None: for ever."""
    if ttl_secs is None:
        return None
    if isinstance(ttl_secs, bool) or not isinstance(ttl_secs, int | float) or not math.isfinite(ttl_secs):
        raise Invalid(f"{name} is a number of seconds.", field=name)
    if not 0 < ttl_secs <= most:
        raise Invalid(f"{name} is more than 0 and at most {most} seconds.", field=name, limit=most)
    return float(ttl_secs)


def check_flag(value: Any, *, name: str) -> bool:
    if not isinstance(value, bool):
        raise Invalid(f"{name} is true or false.", field=name)
    return value


def check_version(version: Any, *, name: str = "expected_version", low: int = 0) -> int:
    if isinstance(version, bool) or not isinstance(version, int) or not low <= version <= MAX_VERSION:
        raise Invalid(f"{name} is a whole number from {low} on.", field=name)
    return version


_HEX = frozenset("0123456789abcdef")


def expectation(given: dict[str, Any]) -> Precondition:
    """What a body expects: `expected_version` (0), `expected_sha` ("") or `expected_value` (null) for nothing there."""
    version, sha = given.get("expected_version"), given.get("expected_sha")
    if version is not None:
        check_version(version)
    if sha is not None and (not isinstance(sha, str) or (sha and (len(sha) != 64 or not set(sha) <= _HEX))):
        raise Invalid("expected_sha is a SHA-256 in hex, or empty for nothing there.", field="expected_sha")
    value = given.get("expected_value", UNSET)
    if value is not UNSET:
        sha_of(value)
    return Precondition(expected_version=version, expected_sha=sha, expected_value=value)
