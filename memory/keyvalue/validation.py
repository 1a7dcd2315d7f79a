"""Checks that declarations cannot make: key names before capabilities are looked up, values in canonical form."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flux.calls.rules import MAX_KEY, normal_key
from fluxcore import config
from fluxcore.canonical_json import dumps, loads, refuse_surrogates
from fluxcore.errors import BadJSON, Invalid
from fluxcore.globs import compile_glob
from fluxcore.versioned import sha_of
from fluxcore.writes import limit_messages
from fluxcore.writes.preconditions import UNSET, Precondition

if TYPE_CHECKING:
    from flux.calls.keys import Expecting


def check_key(key: object, *, name: str = "key") -> str:
    """A key in normal form. Checked before anything else, because capabilities depend on the key."""
    if not isinstance(key, str) or not 1 <= len(key) <= MAX_KEY:
        raise Invalid(f"{name} must be a text of 1 to {MAX_KEY} characters.", field=name, limit=MAX_KEY)
    try:
        return normal_key(key)
    except ValueError as refusal:
        raise Invalid(f"{name} must be {refusal}.", field=name) from None


def check_pattern(pattern: str) -> str:
    """A glob pattern in the normal form of keys (NFC), so that equal texts match."""
    compile_glob(pattern)
    return unicodedata.normalize("NFC", pattern)


@dataclass(frozen=True)
class CanonicalValue:
    """A value as it is stored: canonical JSON, its SHA-256, its size in bytes and its provenance."""

    text: str
    sha: str
    size: int
    origin: str = ""  # of a value that was stored


def check_value(value: Any, *, name: str = "value") -> CanonicalValue:
    """A value in canonical form; refused if it is not JSON or larger than MAX_KV_VALUE_BYTES."""
    try:
        text = dumps(value)
    except (ValueError, TypeError, RecursionError):
        raise Invalid(f"{name} must be JSON: NaN and infinities are not.", field=name) from None
    if not text.isascii():
        refuse_surrogates(text, name=name)
    raw = text.encode()
    limit = config.current().MAX_KV_VALUE_BYTES
    if len(raw) > limit:
        raise limit_messages.too_large(
            "A value as canonical JSON", limit=limit, raised_by="MAX_KV_VALUE_BYTES", bytes=len(raw)
        )
    try:
        loads(raw)  # not every server parses so strictly, and incr or append may exceed its limits
    except BadJSON as refusal:
        raise Invalid(f"{name} cannot be stored. {refusal.message}", field=name) from None
    return CanonicalValue(text, hashlib.sha256(raw).hexdigest(), len(raw))


def value_of(text: str) -> Any:
    """The value of a stored canonical text."""
    return loads(text.encode())


def precondition(request: Expecting) -> Precondition:
    """The precondition of a write. A given null is an expected value, but no expected version or digest."""
    value = request.expected_value if "expected_value" in request.model_fields_set else UNSET
    if value is not UNSET:
        sha_of(value)
    return Precondition(
        expected_version=request.expected_version, expected_sha=request.expected_sha, expected_value=value
    )
