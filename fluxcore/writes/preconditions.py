"""Preconditions of writes: what a caller expects to be stored, and the conflict error if it is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fluxcore.canonical_json import dumps
from fluxcore.errors import Conflict, Invalid


class _Unset:
    def __repr__(self) -> str:
        return "unset"


UNSET = _Unset()


@dataclass(frozen=True)
class Precondition:
    """What the caller expects to be stored: a digest, a version or a value; `""`, 0 and None mean nothing."""

    expected_sha: str | None = None
    expected_version: int | None = None
    expected_value: Any = UNSET

    @property
    def given(self) -> bool:
        return self.expected_sha is not None or self.expected_version is not None or self.expected_value is not UNSET

    def check(self, *, sha: str, version: int, value: Any = None) -> None:
        """Compare with what is stored (`""`, 0, None for nothing); raises a 409 with the stored version."""
        holds = (
            (self.expected_sha is None or self.expected_sha == sha)
            and (self.expected_version is None or self.expected_version == version)
            and (self.expected_value is UNSET or _equal(self.expected_value, value))
        )
        if not holds:
            raise Conflict(conflict_message(version), current_sha=sha, current_version=version)


def conflict_message(version: int) -> str:
    """Sentence of a conflict with the stored version, 0 for none."""
    current = f"it now has version {version}" if version else "it does not exist"
    return f"It has changed since you read it: {current}."


def _equal(left: Any, right: Any) -> bool:
    """Whether two values are equal as JSON: key order does not matter; 1, 1.0 and true are different."""
    return dumps(left) == dumps(right)


NONE = Precondition()


def from_headers(if_match: str | None, if_none_match: str | None) -> Precondition:
    """`If-None-Match: *` = must be absent; `If-Match: "v3"` = version 3; `If-Match: "<sha256>"` = that digest."""
    if if_match is not None and if_none_match is not None:
        raise Invalid("Send If-Match or If-None-Match, not both.", field="If-Match")
    if if_none_match is not None:
        if if_none_match.strip() != "*":
            raise Invalid("If-None-Match must be *.", field="If-None-Match")
        return Precondition(expected_version=0)
    if if_match is None:
        return NONE
    tag = if_match.strip().strip('"')
    if tag.startswith("v") and tag[1:].isascii() and tag[1:].isdigit() and len(tag) <= 17:
        return Precondition(expected_version=int(tag[1:]))
    if tag and is_digest(tag):
        return Precondition(expected_sha=tag)
    raise Invalid('If-Match must be one ETag of this server: "v3" or a SHA-256.', field="If-Match")


def is_digest(text: str) -> bool:
    """Whether a text is a SHA-256 in hex, or empty for nothing."""
    return not text or (len(text) == 64 and all(character in "0123456789abcdef" for character in text))
