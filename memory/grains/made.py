"""Grains made from what other rooms keep: passages of files, messages of transcripts, values of keys.

They are rows of the same table with the kind in the place of the status. Whatever reads memories does so by their
status: lists, exports, clusters, ageing and limits do not see made grains. Recall does, where the caller may read what
they were made from (`sources.py`). What they were made from decides how long they are there.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef

from accounts import origins
from fluxcore import events, raw_sql
from memory.arena.changes import Changes, conduit_array
from memory.engine.kinds import MADE_KINDS as MADE_KINDS
from memory.engine.text import mentions, words
from memory.grains import full_text, jobs, linking, texts
from memory.grains.grain_input import GrainInput
from memory.grains.models import Grain
from memory.grains.store import COLUMNS

_TABLE = Grain._meta.db_table
# A text that is made again is valid again, and of the kind it was.
_AGAIN = (
    "ON CONFLICT (space_id, digest, origin, session) DO UPDATE SET valid_to = NULL, status = excluded.status "
    "RETURNING id, digest, origin, session"
)
PAGE = 200  # grains of one statement


@dataclass(frozen=True)
class MadeText:
    """A text to be made a grain, with its context."""

    text: str
    origin: str
    session: str
    speaker: str = ""
    said_at: datetime | None = None
    writer: str = ""
    tags: tuple[str, ...] = ()
    by_time: bool = False  # said again by another speaker or at another time, it is another grain


def made_input(kind: str, made: MadeText, moment: datetime) -> GrainInput:
    """The fields of a made grain. Its digest is of the kind, so that no memory is ever taken for it."""
    text = made.text.replace("\0", "\ufffd")
    said = int((made.said_at or moment).timestamp())
    terms = [*words.terms(text), *words.terms(made.speaker), *(f"#{tag}" for tag in made.tags)]
    return GrainInput(
        uuid.uuid4(),
        text,
        made.origin,
        _digest(kind, text, made),
        made.session,
        made.speaker,
        made.tags,
        made.said_at,
        None,
        None,
        frozenset(map(words.key, set(terms))),
        tuple(mentions.find_mentions(text, said)),
    )


def _digest(kind: str, text: str, made: MadeText) -> str:
    """The digest of a kind and a text; with `by_time` also of speaker and time.

    Recall shows grains as one if the first sixteen digits of their digests are equal: these do not depend on the time.
    """
    if not made.by_time:
        return texts.digest(f"{kind}\n{text}")
    words = texts.digest(f"{kind}\n{made.speaker}\n{text}")
    return words[:32] + texts.digest(f"{words}\n{made.said_at}")[:32]


def insert_made(space: int, kind: str, made: Sequence[MadeText], moment: datetime) -> list[int]:
    """Insert texts as grains of a kind inside a write; the number of the grain of each, new or existing."""
    numbers: list[int] = []
    for start in range(0, len(made), PAGE):
        numbers += _insert_page(space, kind, made[start : start + PAGE], moment)
    if made:
        jobs.ask_for_enrichment(space)
    return numbers


def _insert_page(space: int, kind: str, made: Sequence[MadeText], moment: datetime) -> list[int]:
    inputs = [made_input(kind, one, moment) for one in made]
    first: dict[tuple[str, str, str], tuple[GrainInput, MadeText]] = {}
    for item, one in zip(inputs, made, strict=True):
        first.setdefault(item.key, (item, one))  # in their order, which is that of neighbours in a session
    unique = [item for item, _ in first.values()]
    existing = linking.find_existing(space, unique, moment)
    values: list[tuple[object, ...]] = [
        (
            item.grain,
            space,
            item.text,
            item.digest,
            "",
            item.origin,
            origins.RANK[item.origin],
            kind,
            one.writer,
            "",
            0,
            item.session,
            ordinal,
            item.speaker,
            list(item.tags),
            item.said_at,
            None,
            None,
            moment,
        )
        for (item, one), ordinal in zip(first.values(), linking.ordinals(unique, existing), strict=True)
    ]
    known = {
        (digest, origin, session): number
        for number, digest, origin, session in raw_sql.upsert(Grain, COLUMNS, values, _AGAIN)
    }
    new = [(item, earlier) for item, earlier in zip(unique, existing, strict=True) if earlier.same is None]
    linked = [linking.NewGrain(known[item.key], item) for item, _ in new]
    rows = linking.link_rows(space, linked, [earlier for _, earlier in new], moment)
    full_text.index_terms(space, [(one.grain, one.item.keys) for one in linked])
    announce(space, kind, list(known.values()), [row for some in rows.values() for row in some])
    return [known[item.key] for item in inputs]


def close_made(space: int, numbers: Sequence[int], moment: datetime) -> None:
    """End the validity of made grains inside a write: recall finds them only as of an earlier time."""
    if numbers:
        Grain.objects.filter(space=space, pk__in=numbers, valid_to=None).update(valid_to=moment)
        announce(space, "closed", numbers, [])


def move_made(space: int, numbers: Sequence[int], session: str) -> None:
    """Move made grains to another session inside a write, except those that it has already."""
    held = Grain.objects.filter(space=space, session=session, digest=OuterRef("digest"), origin=OuterRef("origin"))
    wanted = Grain.objects.filter(space=space, pk__in=numbers, status__in=MADE_KINDS).exclude(session=session)
    moved = list(wanted.filter(~Exists(held)).values_list("pk", flat=True))
    if moved:
        Grain.objects.filter(pk__in=moved).update(session=session)
        announce(space, "moved", moved, [])


def announce(space: int, kind: str, numbers: Sequence[int], conduits: Sequence[tuple[object, ...]]) -> None:
    """Tell the arenas of changed grains."""
    packed = Changes(tuple(numbers), conduit_array(conduits)).pack()
    data = {"kind": kind, "count": len(numbers)}
    events.append("passages.indexed", space=space, actor="worker", subject="", data=data, packed=packed)
