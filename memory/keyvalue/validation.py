"""Checks that a declaration cannot make: names before a caller's rights are looked up, and values as they are kept."""

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
    """A name in its one normal form: capabilities are for names, so it is looked at before anything else."""
    if not isinstance(key, str) or not 1 <= len(key) <= MAX_KEY:
        raise Invalid(f"A {name} is a text of 1 to {MAX_KEY} characters.", field=name, limit=MAX_KEY)
    try:
        return normal_key(key)
    except ValueError as refusal:
        raise Invalid(f"A {name} is {refusal}.", field=name) from None


def check_pattern(pattern: str) -> str:
    """A glob in the normal form of the keys, so that it finds what its writer sees."""
    compile_glob(pattern)
    return unicodedata.normalize("NFC", pattern)


@dataclass(frozen=True)
class CanonicalValue:
    """A value as it is kept: canonical JSON, its digest and its bytes."""

    text: str
    sha: str
    size: int


def check_value(value: Any, *, name: str = "value") -> CanonicalValue:
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
    return CanonicalValue(text, hashlib.sha256(raw).hexdigest(), len(raw))


def value_of(text: str) -> Any:
    return loads(text.encode())


def precondition(request: Expecting) -> Precondition:
    """What a write expects. Null is an expected value if it was given; an expected version or digest is left out."""
    value = request.expected_value if "expected_value" in request.model_fields_set else UNSET
    if value is not UNSET:
        sha_of(value)
    return Precondition(
        expected_version=request.expected_version, expected_sha=request.expected_sha, expected_value=value
    )
