"""Recall: a question in somebody's own words, the grains that answer it, and a receipt that says why.

The work is done on arrays (`memory.engine`); SQL is asked for what changed, for the texts of the few
grains that come back, and to keep the receipt. Space, status and the end of validity are looked at again when
the texts are read: what was taken away a moment ago does not come back.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np

from accounts import origins
from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock, config
from fluxcore.errors import Busy, Invalid
from fluxcore.fair_queue import FairQueue
from fluxcore.writes import limit_messages, limits
from memory.arena.cache import COLD, WARM, arena_cache
from memory.embedding import active_encoder, encoder_kinds
from memory.engine.index.space_index import Index
from memory.engine.ranking import recall as engine
from memory.engine.text import question
from memory.grains import hydrate
from memory.grains.hydrate import GrainRow
from memory.recall import (
    cold_index,
    engine_settings,
    explain,
    filters,
    pending_feedback,
    query_expansion,
    results,
    traces,
)
from memory.recall import recall_request as asking
from memory.recall.recall_request import RecallRequest
from memory.recall.results import SearchHit, SearchResult
from memory.recall.trace_record import TraceRecord, trace_body

# A recall takes milliseconds: whoever has waited this long for a place would only make the queue longer.
PATIENCE_SECONDS = 5.0
# 0..1. How sure of the living one must be for nobody to look at what has faded, where they fill the answer.
SURE = 0.5
# 1..100. Of so many places in a full answer, one at its end goes to what has faded and is the likelier answer.
LAST_PLACES = 5
# 1..1,000. So many grains of one answer that say the same may have kept others from being looked at: it is asked again
# without them,
CROWD = 16
# 0..10. so often at most.
AGAIN = 3
# What may come back when nobody names a status. Quarantined and dying grains only on request.
_LIVING_OR_FADED = tuple(status for tier in filters.STATUS_TIERS for status in tier)

_places: FairQueue | None = None
_making = threading.Lock()


@selector("grains.recall", needs="grains.read")
def recall(principal: Principal, **given: Any) -> dict[str, Any]:
    """The grains that answer a question, best first, with the confidence that a right one is among the first five."""
    ask = asking.check_request(given)
    if principal.space is None:
        raise Invalid("The space to recall from is missing.", field="space")
    _count(principal)
    later = query_expansion.start_expansion(principal.space, ask.query, principal.actor)
    pending_feedback.require_feedback(principal)
    moment = clock.now()
    # Before the place: nobody waits there for somebody else.
    said = " ".join((ask.query, *later()))
    with _place(principal):
        return _computed(principal, principal.space, ask, said, moment)


def _count(principal: Principal) -> None:
    """An agent's recalls have a limit; those of people and of the shell have none."""
    if principal.agent is None:
        return
    limit = config.current().MAX_RECALLS_PER_MINUTE
    wait = limits.count(f"recalls:{principal.agent}", limit=limit)
    if wait:
        raise limit_messages.rate_reached("recalls", limit=limit, seconds=limits.WINDOW, wait=wait)


def _computed(principal: Principal, space: int, ask: RecallRequest, said: str, moment: datetime) -> dict[str, Any]:
    """The answer, its trace left to be written. All of a recall's own computing is here and so holds a place."""
    asked = question.read_question(said, filters.epoch_seconds(moment))
    found = search_space(space, ask, asked, moment)
    numbers = found.numbers
    grains = hydrate.load_grains(space, numbers, ask.statuses or _LIVING_OR_FADED, clusters=any(found.lateral))
    # Taken away or closed a moment ago, or while the index was behind: what is over is over here too.
    when = ask.as_of or moment
    found = found.without({one for one in numbers if one not in grains or grains[one].over(when)})
    kept = [hit for hit in found.hits if hit.id in grains and round(hit.score, 4) >= ask.min_score]
    receipt = TraceRecord(
        uuid.uuid4(),
        space,
        principal.actor,
        principal.label,
        moment,
        ask.query,
        found.rung,
        found.confidence if kept else 0.0,
        found.hops if kept else 0,
        trace_body(ask, asked, found, kept, grains),
        found.exploring,
        tuple(hit.id for hit in kept),
    )
    answer, waiting = _answer(receipt, ask, found, kept, grains), pending_feedback.feedback_hint(principal)
    traces.queue_trace(receipt)
    return answer if waiting is None else {**answer, "feedback_due": waiting}


def search_space(space: int, ask: RecallRequest, asked: question.Query, moment: datetime) -> SearchResult:
    """What the arena knows, or what SQL alone can tell while there is none."""
    vector = active_encoder.encode_query(ask.query)
    with arena_cache().arena(space) as (arena, rung):
        if arena is not None:
            vector = _fitting(vector, arena.index)
            missing = filters.count_without_vector(arena.index)
            if (missing or vector is None) and active_encoder.state().name == encoder_kinds.NONE:
                missing = 0  # without an encoder none will ever be made
            elif rung == WARM and arena.index.size and (missing or vector is None):
                rung = "no encoder" if vector is None else "encoding"
            found = search_index(arena.index, ask, asked, vector, moment, rung, exploring=arena.exploring)
            return replace(found, vectors_missing=missing)
    index = cold_index.build_cold_index(space, asked)
    return search_index(index, ask, asked, _fitting(vector, index), moment, COLD)


def _fitting(vector: Any, index: Index) -> Any:
    """The query's vector, where the index holds vectors it can be compared with."""
    return vector if vector is not None and index.dense is not None and len(vector) == index.dense.dimension else None


def search_index(
    index: Index,
    ask: RecallRequest,
    asked: question.Query,
    vector: Any,
    moment: datetime,
    rung: str,
    *,
    exploring: bool = False,
) -> SearchResult:
    """The living first; what has faded where they leave room, and last where it is the likelier answer."""
    now, settings = filters.epoch_seconds(moment), engine_settings.current(exploring=exploring)
    first, *others = (ask.statuses,) if ask.statuses else filters.STATUS_TIERS

    def ranked(mask: filters.Mask, most: int) -> tuple[SearchResult, Any]:
        ranking = engine.recall(index, asked, vector, allowed=mask, k=most, now=now, settings=settings)
        return results.build_result(index, asked, ranking, rung), index.column("digest")[ranking.rows]

    mask = filters.allowed_rows(index, ask, first, moment)
    found, said = more, _ = ranked(mask, ask.k)
    for _ in range(AGAIN):
        if len(found.hits) >= ask.k or sum(len(hit.folded) for hit in more.hits) < CROWD:
            break
        mask = filters.exclude_texts(index, mask, said)
        more, texts = ranked(mask, ask.k - len(found.hits))
        found, said = found.also(more), np.concatenate((said, texts))
    for tier in others:
        crowded = len(found.hits) >= ask.k
        if crowded and found.confidence >= SURE:
            break
        mask = filters.exclude_texts(index, filters.allowed_rows(index, ask, tier, moment), said)
        if not mask.any():
            continue
        room = max(1, ask.k // LAST_PLACES) if crowded else ask.k - len(found.hits)
        faded, _ = ranked(mask, room)
        # A crowd of the living that hardly fit must not hide for good what fits better.
        if not crowded or faded.confidence > found.confidence:
            found = found.then(faded, ask.k)
    return replace(found, exploring=True) if exploring else found


def _answer(
    receipt: TraceRecord, ask: RecallRequest, found: SearchResult, kept: list[SearchHit], grains: dict[int, GrainRow]
) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "grains": [_grain(hit, grains) for hit in kept],
        "trace_id": str(receipt.id),
        "confidence": round(receipt.confidence, 4),
        "hop_count": receipt.hop_count,
        "features": receipt.body["features"],
        "fallback_triggered": found.fallback,
        "expansion_candidates": [
            {**grains[number].shape(), "cluster": grains[number].cluster if cluster else None}
            for number, cluster in found.beside(grains, kept)
        ],
        "rung": found.rung,
        "vectors_missing": found.vectors_missing,
        "query_truncated": ask.truncated,
    }
    if ask.explain:
        answer["explanation"] = explain.explain_record(receipt)
    return answer


def _grain(hit: SearchHit, grains: dict[int, GrainRow]) -> dict[str, Any]:
    """A result; where several grains say the same, the highest authority among them and how many wrote it."""
    own = grains[hit.id]
    same = [own, *(grains[number] for number in hit.folded[: results.MOST_FOLDED] if number in grains)]
    best = min(same, key=lambda one: one.authority)
    return {
        **own.shape(),
        "score": round(hit.score, 4),
        "source": hit.source,
        "authority": origins.AUTHORITY[best.authority],
        "writers": len({one.writer for one in same}),
        "said": sum(1 + one.corroborations for one in same),
        "same": [one.uuid for one in same[1:]],
    }


@contextmanager
def _place(principal: Principal) -> Iterator[None]:
    """At most READ_WORKERS recalls compute at once in a process, in turn by space and agent (`fluxcore.fair_queue`)."""
    global _places
    if _places is None:
        with _making:
            _places = _places or FairQueue(config.current().READ_WORKERS)
    with _places.place(principal.space, principal.actor, PATIENCE_SECONDS) as given:
        if not given:
            raise Busy("Too many recalls at the same time. Try again.", retry_after=1)
        began = time.monotonic()
        yield
        _places.rest(principal.space, principal.actor, time.monotonic() - began)
