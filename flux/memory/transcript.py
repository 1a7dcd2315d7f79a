"""Comparison of transcripts, so that changes of several writers are joined and none is overwritten."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from flux.memory.errors import MemoryStoreError


@dataclass(frozen=True)
class MessageText:
    """A message as JSON. Two are equal whatever the order of their fields; `whole` keeps that order."""

    compared: str  # with sorted fields
    whole: str = field(compare=False)

    def message(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.whole)
        return found


def message_text(message: Any, number: int) -> MessageText:
    """A message as JSON; values that JSON does not have are written as their text.

    NaN and infinities stay as flyte writes them. Whoever sends messages to a server calls `check_sendable`.
    """
    if not isinstance(message, dict):
        raise MemoryStoreError(f"Message {number} is a {type(message).__name__}; messages must be dicts.")
    try:
        whole = _json(message)
        # Keys can be of several types, and are sorted as the texts that they are in JSON.
        return MessageText(_json(json.loads(whole), sort=True), whole)
    except (TypeError, ValueError, RecursionError) as error:
        raise MemoryStoreError(f"Message {number} cannot be written as JSON: {error}.") from error


def _json(message: dict[Any, Any], *, sort: bool = False) -> str:
    return json.dumps(message, default=str, sort_keys=sort, ensure_ascii=False)


def texts(messages: Sequence[Any]) -> list[MessageText]:
    return [message_text(message, number) for number, message in enumerate(messages)]


def check_sendable(found: Sequence[MessageText]) -> None:
    """Refuse messages with numbers that JSON does not have, which no server takes."""
    for number, text in enumerate(found):
        if "NaN" not in text.whole and "Infinity" not in text.whole:
            continue
        try:
            json.dumps(text.message(), allow_nan=False)
        except ValueError as error:
            raise MemoryStoreError(
                f"Message {number} has NaN or an infinity, which JSON does not have and no server takes. Replace it."
            ) from error


def difference(base: Sequence[MessageText], now: Sequence[MessageText]) -> tuple[list[int], list[MessageText]]:
    """How a transcript was changed: positions in `base` of the messages it still begins with, and what follows them.

    An edited message counts as new, and so does all that follows it: the order of `now` is kept.
    """
    kept, at = list[int](), 0
    for text in now:
        try:
            at = base.index(text, at) + 1
        except ValueError:
            break
        kept.append(at - 1)
    return kept, list(now[len(kept) :])


def merged(
    base: Sequence[MessageText], mine: Sequence[MessageText], theirs: Sequence[MessageText]
) -> list[MessageText]:
    """A transcript with two writers' changes since `base`: what both keep, then what each added."""
    my_kept, my_added = difference(base, mine)
    their_kept, their_added = difference(base, theirs)
    both = set(my_kept) & set(their_kept)
    return [*(text for at, text in enumerate(base) if at in both), *their_added, *my_added]


def as_messages(
    wanted: Sequence[MessageText], known: Sequence[MessageText], messages: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The messages of a transcript as dicts: those that the caller has, whose texts are `known`, and new ones."""
    own: dict[MessageText, deque[dict[str, Any]]] = defaultdict(deque)
    for text, message in zip(known, messages, strict=True):
        own[text].append(message)
    return [own[text].popleft() if own[text] else text.message() for text in wanted]
