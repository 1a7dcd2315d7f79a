"""Comparison of transcripts, so that changes of several writers are joined and none is overwritten."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

from flux.memory.errors import MemoryStoreError


def message_text(message: Any, number: int) -> str:
    """A message as JSON with sorted keys; values that JSON does not have are written as their text."""
    if not isinstance(message, dict):
        raise MemoryStoreError(f"Message {number} is a {type(message).__name__}; messages must be dicts.")
    try:
        try:
            return _sorted(message)
        except TypeError:  # keys of several types cannot be sorted before they are texts
            return _sorted(json.loads(json.dumps(message, default=str)))
    except (TypeError, ValueError, RecursionError) as error:
        raise MemoryStoreError(f"Message {number} cannot be written as JSON: {error}.") from error


def _sorted(message: dict[Any, Any]) -> str:
    return json.dumps(message, default=str, sort_keys=True, ensure_ascii=False, allow_nan=False)


def texts(messages: Sequence[Any]) -> list[str]:
    return [message_text(message, number) for number, message in enumerate(messages)]


def difference(base: Sequence[str], now: Sequence[str]) -> tuple[list[int], list[str]]:
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


def merged(base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """A transcript with two writers' changes since `base`: what both keep, then what each added."""
    my_kept, my_added = difference(base, mine)
    their_kept, their_added = difference(base, theirs)
    both = set(my_kept) & set(their_kept)
    return [*(text for at, text in enumerate(base) if at in both), *their_added, *my_added]


def as_messages(
    wanted: Sequence[str], known: Sequence[str], messages: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The messages of a transcript as dicts: those that the caller has, whose texts are `known`, and new ones."""
    own: dict[str, deque[dict[str, Any]]] = defaultdict(deque)
    for text, message in zip(known, messages, strict=True):
        own[text].append(message)
    return [own[text].popleft() if own[text] else json.loads(text) for text in wanted]
