"""Validated input of one grain: every field is checked and everything computed before the write."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from accounts import origins
from fluxcore import clock
from fluxcore.errors import Invalid
from memory.engine.text import mentions, words
from memory.engine.text.mentions import Mention
from memory.grains import texts
from memory.grains.sizes import MAX_NAME as MAX_NAME
from memory.grains.sizes import MAX_TAG as MAX_TAG
from memory.grains.sizes import MAX_TAGS as MAX_TAGS

FIELDS = ("content", "provenance", "session", "speaker", "time", "tags", "valid_from", "valid_to")
EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)  # the latest is the end of 9999, where RFC 3339 ends


@dataclass(frozen=True)
class GrainInput:
    """Validated fields of a grain to store. Times are UTC; `""` means there is no session or speaker."""

    grain: uuid.UUID  # the id it gets if it is new
    text: str
    origin: str
    digest: str
    session: str
    speaker: str
    tags: tuple[str, ...]
    said_at: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None
    keys: frozenset[int]  # term keys for full text search
    mentions: tuple[Mention, ...]

    @property
    def key(self) -> tuple[str, str, str]:
        """Text, origin and session: a second input with the same key corroborates the first grain."""
        return self.digest, self.origin, self.session


def check_grain_input(given: Any, *, ceiling: str, origin: str | None = None) -> GrainInput:
    """Validate an item; raises Invalid with the name of the field. An import has limited the `origin` already."""
    if not isinstance(given, dict):
        raise Invalid("Each item must be an object with content.", field="items")
    for name in given:
        if name not in FIELDS:
            raise Invalid.unknown(name, FIELDS)
    text = texts.check_text(given.get("content"))
    origin = origin or origins.bind(_claimed(given), ceiling=ceiling)
    session, speaker = (_name(given, field) for field in ("session", "speaker"))
    tags = _tags(given.get("tags"))
    said_at, valid_from, valid_to = (_moment(given, field) for field in ("time", "valid_from", "valid_to"))
    if valid_from is not None and valid_to is not None and valid_from >= valid_to:
        raise Invalid("valid_from must be before valid_to.", field="valid_from")
    terms = [*words.terms(text), *words.terms(speaker), *(f"#{tag}" for tag in tags)]
    said_seconds = int((said_at or clock.now()).timestamp())
    return GrainInput(
        uuid.uuid4(),
        text,
        origin,
        texts.digest(text),
        session,
        speaker,
        tags,
        said_at,
        valid_from,
        valid_to,
        frozenset(map(words.key, set(terms))),
        tuple(mentions.find_mentions(text, said_seconds)),
    )


def parse_time(value: Any, *, name: str) -> datetime:
    """Parse a time from a caller: with an offset, and within the range of every database and page."""
    found = clock.parse(value, name=name)
    if found < EARLIEST:
        raise Invalid(f"{name} must be a time from the years 1900 to 9999.", field=name)
    return found


def check_visible_name(value: Any, *, name: str, longest: int) -> str:
    """Validate a short name from a caller: it must have visible characters and no hidden ones."""
    if not isinstance(value, str) or not 1 <= len(value) <= longest or not texts.is_visible(value):
        raise Invalid(f"{name} must have 1 to {longest} characters, all of them visible.", field=name)
    return value


def _claimed(given: dict[str, Any]) -> str | None:
    claimed = given.get("provenance")
    if claimed is not None and not isinstance(claimed, str):
        raise Invalid("provenance must be a text.", field="provenance")
    return claimed


def _name(given: dict[str, Any], name: str) -> str:
    return "" if given.get(name) is None else check_visible_name(given[name], name=name, longest=MAX_NAME)


def _moment(given: dict[str, Any], name: str) -> datetime | None:
    return None if given.get(name) is None else parse_time(given[name], name=name)


def _tags(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MAX_TAGS:
        raise Invalid(f"tags must be a list of at most {MAX_TAGS} texts.", field="tags")
    tags = tuple(check_visible_name(tag, name="tags", longest=MAX_TAG) for tag in value)
    if len(set(tags)) < len(tags):
        raise Invalid("tags contains a tag twice.", field="tags")
    return tags
