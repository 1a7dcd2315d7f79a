"""Enrichment of stored grains with an encoder: the vector, and conduits to the nearest neighbours.

A job of the worker, after the text is stored. It reads and encodes outside any transaction, then writes
a page of grains in one commit: after a kill a page is written completely or not at all, and the rest is still
marked as pending. Without an encoder grains wait, and no job fails because of it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from fluxcore import clock, config, events
from fluxcore.work.run import Apply, Run
from memory.arena.cache import arena_cache
from memory.arena.changes import Changes, conduit_array
from memory.embedding import active_encoder
from memory.embedding.encoder import Encoder, EncoderProblem, encode_checked
from memory.engine.index.dense import quantise
from memory.engine.index.space_index import STATUSES
from memory.grains import linking
from memory.grains.jobs import ask_for_enrichment, pending
from memory.grains.models import Grain, Relation
from memory.grains.vectors import existing_grains, save_vectors
from memory.learning import inferred_votes

__all__ = ["enrich", "pending"]

PAGE = 256  # grains of one commit
SECONDS = 5.0  # limit of encoding for one page: work lost by a kill, and delay until grains are linked
SLICE = 32
NEIGHBOURS = 5
# How long the search for neighbours waits for an arena: large spaces are loaded in the background.
WAIT, WAITS = timedelta(seconds=5), 12
_TABLE = Grain._meta.db_table
# Statuses that recall does not use: their grains are not linked to. Those made from files, messages and keys are.
_NOT_LINKED = [STATUSES.index(status) for status in ("quarantined", "pending_deletion", "gone")]
_PENDING = (
    f"SELECT id, text, digest FROM {_TABLE} "  # noqa: S608
    "WHERE space_id = %s AND NOT enriched AND id > %s ORDER BY id LIMIT %s"
)
_SPACES = f"SELECT DISTINCT space_id FROM {_TABLE} WHERE NOT enriched"  # noqa: S608
_ENRICHED = f"UPDATE {_TABLE} SET enriched = %s WHERE id = %s"  # noqa: S608

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class EncodedPage:
    """One page of grains with their vectors."""

    numbers: list[int]
    digests: list[int]  # the first 64 bits, as the arena has them
    vectors: Floats


def enrich(run: Run) -> Apply | None:
    """The handler of `grains.enrich`."""
    space = run.space
    if space is None:
        return None
    encoder = active_encoder.load_encoder()
    if encoder is None:
        run.say("No encoder is ready: the memories stay queued.")
        return None
    found = _pending(space, int(run.args.get("after", 0)))
    page, last = encode_page(encoder, found)
    if not page.numbers:
        if found:
            run.say(f"{encoder.name} encoded none of {len(found)} memories: they stay queued.")
        return None
    cosines = _cosines(space, encoder, page)
    if cosines is None and int(run.args.get("waits", 0)) < WAITS:
        return lambda: _later(run, space)
    more = last < found[-1][0] or len(found) == PAGE
    return lambda: _apply(run, space, encoder, page, cosines or {}, last if more else None)


def _pending(space: int, after: int) -> list[tuple[int, str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(_PENDING, [space, after, PAGE])
        return list(cursor.fetchall())


def encode_page(encoder: Encoder, found: Sequence[tuple[int, str, str]]) -> tuple[EncodedPage, int]:
    """Encode a page; returns the grains that got a valid vector, and the number of grains tried."""
    until = time.monotonic() + SECONDS
    numbers: list[int] = []
    digests: list[int] = []
    vectors: list[Floats] = []
    last = 0
    for at in range(0, len(found), SLICE):
        part = found[at : at + SLICE]
        for (number, _, digest), vector in zip(part, _rows(encoder, [text for _, text, _ in part]), strict=True):
            last = number
            if vector is not None:
                numbers.append(number)
                digests.append(int(digest[:16], 16))
                vectors.append(vector)
        if not numbers or time.monotonic() > until:
            break  # out of time, or the encoder seems to be broken
    matrix = np.stack(vectors) if vectors else np.zeros((0, encoder.dimension), np.float32)
    return EncodedPage(numbers, digests, matrix), last


def _rows(encoder: Encoder, texts: list[str]) -> list[Floats | None]:
    """One vector for each text; an invalid vector skips only its own text."""
    try:
        return list(encode_checked(encoder, texts))
    except EncoderProblem:
        if len(texts) == 1:
            return [None]
    return [row for text in texts for row in _rows(encoder, [text])]


def _cosines(space: int, encoder: Encoder, page: EncodedPage) -> dict[tuple[int, int], float] | None:
    """Cosines of each grain to its nearest other texts in the space and in the page.

    None while the space has no arena.
    """
    alike = page.vectors @ page.vectors.T
    own = set(page.numbers)
    found: dict[tuple[int, int], float] = {}
    for at in range(0, len(page.numbers), SLICE):
        rows = range(at, min(at + SLICE, len(page.numbers)))
        near = _near(space, encoder, page, rows)
        if near is None:
            return None
        for row in rows:
            number = page.numbers[row]
            beside = zip(alike[row].tolist(), page.numbers, page.digests, strict=True)
            for cosine, other in _best([*near[row - at], *beside], page.digests[row]):
                # Two grains of a page may be neighbours of each other: one conduit, from the later to the earlier.
                ends = (max(number, other), min(number, other)) if other in own else (number, other)
                found[ends] = cosine
    return found


def _near(space: int, encoder: Encoder, page: EncodedPage, rows: range) -> list[list[tuple[float, int, int]]] | None:
    """(cosine, grain, digest) of the nearest grains in the arena, for some rows of the page."""
    with arena_cache().arena(space) as (arena, _):
        if arena is None:
            return None
        index, dense = arena.index, arena.index.dense
        if dense is None or arena.encoder != encoder.name or dense.dimension != encoder.dimension:
            return [[] for _ in rows]
        allowed = np.isin(index.column("status"), _NOT_LINKED, invert=True)
        ids, digests = index.column("id"), index.column("digest")
        found = []
        for row in rows:
            near, cosines = dense.search(page.vectors[row], allowed=allowed, k=3 * NEIGHBOURS)
            found.append(list(zip(cosines.tolist(), ids[near].tolist(), digests[near].tolist(), strict=True)))
        return found


def _best(found: list[tuple[float, int, int]], own: int) -> list[tuple[float, int]]:
    """The nearest grains, one of each text: grains with equal texts are linked already."""
    best: dict[int, tuple[float, int]] = {}
    for cosine, number, digest in sorted(found, key=lambda one: (-one[0], one[1])):
        if digest != own:
            best.setdefault(digest, (cosine, number))
        if len(best) == NEIGHBOURS:
            break
    return list(best.values())


def _apply(
    run: Run, space: int, encoder: Encoder, page: EncodedPage, cosines: dict[tuple[int, int], float], after: int | None
) -> None:
    """Write vectors and conduits of a page in one commit, without grains that were purged meanwhile."""
    settings = config.current()
    existing = existing_grains(space, {*page.numbers, *(to for _, to in cosines)})
    kept = [row for row, number in enumerate(page.numbers) if number in existing]
    numbers = [page.numbers[row] for row in kept]
    save_vectors(space, encoder.name, numbers, *quantise(page.vectors[kept]))
    links = [
        linking.NewConduit(to, Relation.RELATED, weight, grain=start)
        for (start, to), cosine in cosines.items()
        if (weight := min(cosine * settings.INITIAL_WEIGHT_SCALE, settings.WEIGHT_CEILING)) >= settings.WEIGHT_FLOOR
        and {start, to} <= existing
    ]
    conduits = [row for row in linking.insert_conduits(space, links, int(clock.now().timestamp())) if row]
    with connection.cursor() as cursor:
        cursor.executemany(_ENRICHED, [(True, number) for number in numbers])
    near = sum(cosine >= settings.DEDUP_SIMILARITY_THRESHOLD for cosine in cosines.values())
    run.say(f"{encoder.name}: {len(numbers)} memories, {len(conduits)} links, {near} near duplicates.")
    data = {"grains": len(numbers), "conduits": len(conduits), "encoder": encoder.name}
    packed = Changes(tuple(numbers), conduit_array(conduits)).pack()
    events.append("grains.enriched", space=space, actor="worker", subject="", data=data, packed=packed)
    inferred_votes.notice_near_grains(
        space, [ends for ends, cosine in cosines.items() if cosine >= settings.EPISTEMIC_CHECK_SIMILARITY]
    )
    if after is not None:
        ask_for_enrichment(space, after=after)


def _later(run: Run, space: int) -> None:
    run.say("The index of this space is being loaded: the memories stay queued.")
    args = {**run.args, "waits": int(run.args.get("waits", 0)) + 1}
    ask_for_enrichment(space, due_at=clock.now() + WAIT, **args)


def ask_for_what_is_left() -> int:
    """Request enrichment of grains that waited for an encoder. Called once a minute."""
    if not active_encoder.ready():
        active_encoder.load_soon()  # not here: this runs inside a write, and loading takes seconds
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_SPACES)
        found = [space for (space,) in cursor.fetchall()]
    for space in found:
        ask_for_enrichment(space)
    return len(found)
