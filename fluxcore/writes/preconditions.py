"""One precondition object for all rooms, and the one conflict answer when it does not hold."""

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
    """What the caller believes is there: a digest, a version or a value; `""`, 0 and None mean nothing is."""

    expected_sha: str | None = None
    expected_version: int | None = None
    expected_value: Any = UNSET

    @property
    def given(self) -> bool:
        return self.expected_sha is not None or self.expected_version is not None or self.expected_value is not UNSET

    def check(self, *, sha: str, version: int, value: Any = None) -> None:
        """Compare with what is there now (`""`, 0, None for nothing); a mismatch is a 409 that shows it."""
        holds = (
            (self.expected_sha is None or self.expected_sha == sha)
            and (self.expected_version is None or self.expected_version == version)
            and (self.expected_value is UNSET or _equal(self.expected_value, value))
        )
        if not holds:
            raise Conflict(conflict_message(version), current_sha=sha, current_version=version)


def conflict_message(version: int) -> str:
    """The sentence of a conflict: which version is there now, 0 for none."""
    there = f"version {version} is there now" if version else "nothing is there now"
    return f"It has changed since you looked: {there}."


def _equal(left: Any, right: Any) -> bool:
    """Equal as JSON: the order of keys does not matter, 1, 1.0 and true are three different values."""
    return dumps(left) == dumps(right)


NONE = Precondition()


def from_headers(if_match: str | None, if_none_match: str | None) -> Precondition:
    """`If-None-Match: *` = must be absent; `If-Match: "v3"` = version 3; `If-Match: "<sha256>"` = that digest."""
    if if_match is not None and if_none_match is not None:
        raise Invalid("Send If-Match or If-None-Match, not both.", field="If-Match")
    if if_none_match is not None:
        if if_none_match.strip() != "*":
            raise Invalid("If-None-Match takes only * here.", field="If-None-Match")
        return Precondition(expected_version=0)
    if if_match is None:
        return NONE
    tag = if_match.strip().strip('"')
    if tag.startswith("v") and tag[1:].isascii() and tag[1:].isdigit() and len(tag) <= 17:
        return Precondition(expected_version=int(tag[1:]))
    if len(tag) == 64 and all(character in "0123456789abcdef" for character in tag):
        return Precondition(expected_sha=tag)
    raise Invalid('If-Match takes one tag as this server sends it, "v3" or a SHA-256.', field="If-Match")
