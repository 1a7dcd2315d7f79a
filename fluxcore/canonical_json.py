"""JSON parsing and writing: strict when read, canonical when hashed."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

from fluxcore.errors import BadJSON, Invalid

MAX_DEPTH = 32
MAX_VALUES = 100_000  # in one body; a value has a few bytes in JSON and a hundred times that in memory
MAX_INTEGER = 2**53 - 1  # the largest that every JSON reader represents exactly


# One encoder for all calls, because `json.dumps` would create one for every call with these options.
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def dumps(value: Any) -> str:
    """Canonical JSON, for digests and hash chains: sorted keys, no spaces, no NaN."""
    return _CANONICAL.encode(value)


def digest(value: Any) -> str:
    return hashlib.sha256(dumps(value).encode()).hexdigest()


def loads(body: bytes) -> Any:
    """Parse a request body strictly; refuses duplicate keys, NaN, deep nesting, large integers and lone surrogates."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadJSON("The body is not UTF-8.") from None
    # Counting brackets and commas is fast and enough for most bodies; only suspicious ones are checked closely.
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH or body.count(b",") > MAX_VALUES:
        _refuse_deep_or_many(body)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_int=_integer,
            parse_float=_float,
        )
    except json.JSONDecodeError as error:
        raise BadJSON(
            f"The body is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except RecursionError:
        raise BadJSON(f"The body is nested deeper than {MAX_DEPTH}.") from None
    if "\\u" in text:
        refuse_surrogates(json.dumps(value, ensure_ascii=False))
    return value


def refuse_surrogates(text: str, *, name: str = "text") -> None:
    """Refuse text with lone surrogates, which no database can store as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Invalid("The text has a lone surrogate (half a character). Send valid Unicode.", field=name) from None


_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def _refuse_deep_or_many(body: bytes) -> None:
    """Bound depth and number of values before the parser spends memory on them.

    Texts between quotes are dropped first, with whole-buffer operations only: walking a batch of long
    texts character by character takes a second. Invalid JSON may be counted wrongly after its first
    error, but the parser stops there.
    """
    bare = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    if bare.count(b'"') > 4 * MAX_VALUES:
        raise BadJSON(f"The body holds more than {MAX_VALUES} values.")
    structure = b"".join(bare.split(b'"')[::2])
    brackets = structure.translate(None, _NOT_BRACKETS)
    if structure.count(b",") + brackets.count(b"[") + brackets.count(b"{") > MAX_VALUES:
        raise BadJSON(f"The body holds more than {MAX_VALUES} values.")
    depth = 0
    for bracket in brackets:
        depth += _STEP[bracket]
        if depth > MAX_DEPTH:
            raise BadJSON(f"The body is nested deeper than {MAX_DEPTH}.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise BadJSON(f"The key {name[:64]!r} appears twice in one object.")
            seen.add(name)
    return result


def _refuse_constant(name: str) -> Any:
    raise BadJSON(f"{name} is not JSON.")


def _integer(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > MAX_INTEGER:
        raise BadJSON("A whole number is larger than 2^53 - 1; send it as a text.")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise BadJSON("A number is out of range.")
    return value
