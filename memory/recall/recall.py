"""Recall: the grains that answer a question, with a trace that explains them.

Ranking works on arrays (`memory.engine`); SQL is read for changes and for the texts of the few returned grains, and
written for the trace. Space, status and validity are checked again when texts are read: a grain deleted a moment ago is
not returned.
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
from fluxcore.writes import limit_messages, limit_windows, limits
from memory.arena.cache import COLD, WARM, arena_cache
from memory.embedding import active_encoder, encoder_kinds
from memory.engine.index.space_index import Index
from memory.engine.kinds import MADE_KINDS, MEMORY
from memory.engine.ranking import recall as engine
from memory.engine.text import question
from memory.grains import hydrate, sources
from memory.grains.hydrate import GrainRow
from memory.grains.models import Grain
from memory.grains.sources import VisibleKinds
from memory.recall import (
    cold_index,
    engine_settings,
    explain,
    filters,
    pending_feedback,
    query_expansion,
    recall_request,
    results,
    traces,
)
from memory.recall.recall_request import RecallRequest
from memory.recall.results import SearchHit, SearchResult
from memory.recall.trace_record import TraceRecord, trace_body

# A recall takes milliseconds: a caller that waited this long for its turn is refused, so that the queue stays short.
PATIENCE_SECONDS = 5.0
# 0..1. Confidence of a full answer of active grains from which on dormant and archived ones are not searched.
SURE = 0.5
# 1..100. In a full answer, one of so many places, at its end, is given to dormant or archived grains that fit better.
LAST_PLACES = 5
# 1..1,000. So many folded grains of the same text may have kept others out of the pool: recall searches again without
# them.
CROWD = 16
# 0..10. How often recall searches again at most.
AGAIN = 3
# Statuses that are returned if none is requested. Quarantined grains and those pending deletion only on request.
_LIVING_OR_FADED = tuple(status for tier in filters.STATUS_TIERS for status in tier)

_ACTIVE = Grain.Status.ACTIVE.value

_slots: FairQueue | None = None
_creating = threading.Lock()


@selector("grains.recall", needs="grains.read")
def recall(principal: Principal, **given: Any) -> dict[str, Any]:
    """The grains that answer a question, best first, with the confidence that a right one is among the first five."""
    request = recall_request.check_request(given)
    if principal.space is None:
        raise Invalid("The space to recall from is missing.", field="space")
    _count_recall(principal)
    wait_for_words = query_expansion.start_expansion(principal.space, request.query, principal.actor)
    pending_feedback.require_feedback(principal)
    moment = clock.now()
    # Before taking a slot, so that no slot is occupied while waiting for the expansion.
    expanded = " ".join((request.query, *wait_for_words()))
    with _take_slot(principal):
        return _compute_answer(principal, principal.space, request, expanded, moment)


def _count_recall(principal: Principal) -> None:
    """Count a recall against the rate limit of an agent; people and the shell have no limit."""
    if principal.agent is None:
        return
    limit = config.current().MAX_RECALLS_PER_MINUTE
    wait = limits.count(f"recalls:{principal.agent}", limit=limit)
    if wait:
        raise limit_messages.rate_reached("recalls", limit=limit, seconds=limit_windows.WINDOW, wait=wait)


def _compute_answer(
    principal: Principal, space: int, request: RecallRequest, expanded: str, moment: datetime
) -> dict[str, Any]:
    """Answer of a recall; its trace is queued. All computation of a recall is here, inside its slot."""
    query = question.read_question(expanded, filters.epoch_seconds(moment))
    seen = sources.visible(principal, space, request.made_kinds)
    result = search_space(space, request, query, moment, seen)
    numbers = result.numbers
    statuses = (*(request.statuses or _LIVING_OR_FADED), *seen.kinds)
    grains = hydrate.load_grains(space, numbers, statuses, clusters=any(result.lateral))
    cited = _cite(principal, space, grains, request.as_of)
    # Grains deleted or no longer valid since the index was updated are removed.
    valid_at = request.as_of or moment
    result = result.without({number for number in numbers if number not in grains or grains[number].over(valid_at)})
    kept = [hit for hit in result.hits if hit.id in grains and round(hit.score, 4) >= request.min_score]
    trace = TraceRecord(
        uuid.uuid4(),
        space,
        principal.actor,
        principal.label,
        moment,
        request.query,
        result.rung,
        result.confidence if kept else 0.0,
        result.hops if kept else 0,
        trace_body(request, query, result, kept, grains),
        result.exploring,
        tuple(hit.id for hit in kept),
    )
    answer, hint = _build_answer(trace, request, result, kept, grains, cited), pending_feedback.feedback_hint(principal)
    traces.queue_trace(trace)
    return answer if hint is None else {**answer, "feedback_due": hint}


def _cite(
    principal: Principal, space: int, grains: dict[int, GrainRow], as_of: datetime | None
) -> dict[int, dict[str, Any]]:
    """Where the made grains are from. Those that the caller may not see, or that were removed, are taken out."""
    made = [(number, row.status) for number, row in grains.items() if row.status in MADE_KINDS]
    found = sources.citations(principal, space, made, as_of) if made else {}
    for number, _ in made:
        if number not in found:
            del grains[number]
    return found


def search_space(
    space: int, ask: RecallRequest, asked: question.Query, moment: datetime, seen: VisibleKinds = sources.NONE
) -> SearchResult:
    """Search the arena of the space, or the cold index while there is none."""
    vector = active_encoder.encode_query(ask.query)
    with arena_cache().arena(space) as (arena, rung):
        if arena is not None:
            vector = _comparable(vector, arena.index)
            missing = filters.count_without_vector(arena.index)
            if (missing or vector is None) and active_encoder.state().name == encoder_kinds.NONE:
                missing = 0  # without an encoder no vectors will be made
            elif rung == WARM and arena.index.size and (missing or vector is None):
                rung = "no encoder" if vector is None else "encoding"
            result = search_index(arena.index, ask, asked, vector, moment, rung, seen, exploring=arena.exploring)
            return replace(result, vectors_missing=missing)
    index = cold_index.build_cold_index(space, asked)
    return search_index(index, ask, asked, _comparable(vector, index), moment, COLD, seen)


def _comparable(vector: Any, index: Index) -> Any:
    """The vector of the query if the index has vectors of the same dimension, else None."""
    return vector if vector is not None and index.dense is not None and len(vector) == index.dense.dimension else None


def search_index(
    index: Index,
    ask: RecallRequest,
    asked: question.Query,
    vector: Any,
    moment: datetime,
    rung: str,
    seen: VisibleKinds = sources.NONE,
    *,
    exploring: bool = False,
) -> SearchResult:
    """Search active and made grains first; dormant and archived ones if places are left, or if they fit better."""
    now, settings = filters.epoch_seconds(moment), engine_settings.current(exploring=exploring)
    first, *other_tiers = _tiers(ask, seen)

    def ranked(mask: filters.Mask, most: int) -> tuple[SearchResult, Any]:
        ranking = engine.recall(index, asked, vector, allowed=mask, k=most, now=now, settings=settings)
        return results.build_result(index, asked, ranking, rung), index.column("digest")[ranking.rows]

    mask = filters.allowed_rows(index, ask, first, moment, seen)
    result, shown_texts = more, _ = ranked(mask, ask.k)
    for _ in range(AGAIN):
        if len(result.hits) >= ask.k or sum(len(hit.folded) for hit in more.hits) < CROWD:
            break
        mask = filters.exclude_texts(index, mask, shown_texts)
        more, texts = ranked(mask, ask.k - len(result.hits))
        result, shown_texts = result.followed_by(more), np.concatenate((shown_texts, texts))
    for tier in other_tiers:
        full = len(result.hits) >= ask.k
        if full and result.confidence >= SURE:
            break
        mask = filters.exclude_texts(index, filters.allowed_rows(index, ask, tier, moment), shown_texts)
        if not mask.any():
            continue
        room = max(1, ask.k // LAST_PLACES) if full else ask.k - len(result.hits)
        dormant, _ = ranked(mask, room)
        # Many active grains that hardly fit must not hide a dormant grain that fits better.
        if not full or dormant.confidence > result.confidence:
            result = result.followed_by_faded(dormant, ask.k)
    return replace(result, exploring=True) if exploring else result


def _tiers(ask: RecallRequest, seen: VisibleKinds) -> tuple[tuple[str, ...], ...]:
    """Statuses and kinds to search, one tier after the other."""
    if not ask.with_memories:
        return (seen.kinds,)
    first, *more = (ask.statuses,) if ask.statuses else filters.STATUS_TIERS
    return ((*first, *seen.kinds), *more)


def _build_answer(
    trace: TraceRecord,
    ask: RecallRequest,
    result: SearchResult,
    kept: list[SearchHit],
    grains: dict[int, GrainRow],
    cited: dict[int, dict[str, Any]],
) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "grains": [_build_grain(hit, grains, cited) for hit in kept],
        "trace_id": str(trace.id),
        "confidence": round(trace.confidence, 4),
        "hop_count": trace.hop_count,
        "features": trace.body["features"],
        "fallback_triggered": result.fallback,
        "expansion_candidates": [
            {**grains[number].shape(), "cluster": grains[number].cluster if cluster else None}
            for number, cluster in result.lateral_candidates(grains, kept)
            if number not in cited
        ],
        "rung": result.rung,
        "vectors_missing": result.vectors_missing,
        "query_truncated": ask.truncated,
    }
    if ask.explain:
        answer["explanation"] = explain.explain_record(trace)
    return answer


def _build_grain(hit: SearchHit, grains: dict[int, GrainRow], cited: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """One result; of several grains with the same text, the highest authority and the number of writers."""
    own = grains[hit.id]
    same = [own, *(grains[number] for number in hit.folded[: results.MOST_FOLDED] if number in grains)]
    best = min(same, key=lambda grain: grain.authority)
    return {
        **own.shape(),
        "score": round(hit.score, 4),
        "source": hit.source,
        "authority": origins.AUTHORITY[best.authority],
        "writers": len({grain.writer for grain in same}),
        "said": sum(1 + grain.corroborations for grain in same),
        "same": [grain.uuid for grain in same[1:]],
        **_source_of(own, cited),
    }


def _source_of(own: GrainRow, cited: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """The kind of a result, and where it is from if it was made from a file or a transcript."""
    citation = cited.get(own.id)
    if citation is None:
        return {"kind": MEMORY}
    return {"kind": own.status, "status": _ACTIVE, "session": citation.get("session") or None, "citation": citation}


@contextmanager
def _take_slot(principal: Principal) -> Iterator[None]:
    """At most READ_WORKERS recalls compute at once in a process, in turn by space and agent (`fluxcore.fair_queue`)."""
    global _slots
    if _slots is None:
        with _creating:
            _slots = _slots or FairQueue(config.current().READ_WORKERS)
    with _slots.place(principal.space, principal.actor, PATIENCE_SECONDS) as granted:
        if not granted:
            raise Busy("Too many recalls at the same time. Try again.", retry_after=1)
        began = time.monotonic()
        yield
        _slots.rest(principal.space, principal.actor, time.monotonic() - began)
