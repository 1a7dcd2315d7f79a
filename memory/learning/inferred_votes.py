"""Inferred votes: weak votes against results, after a repeated question or a correction by the same caller.

The worker gives them in the name of the caller. The caller's own vote always replaces them, before or after; like any
vote they are listed, explained and undone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from fluxcore import clock, config, events, raw_sql
from fluxcore.work.run import Apply, Run
from memory.embedding import active_encoder
from memory.engine.text import question
from memory.engine.text.correction import corrects
from memory.engine.text.rephrase import rephrases
from memory.grains.models import Grain, Trace, TraceGrain, Vote
from memory.learning import feedback, jobs
from memory.recall import filters, traces

WITHIN = timedelta(minutes=10)  # a question repeated later than this is a new question
AFTER = timedelta(seconds=20)  # delay before traces are examined: the caller may still vote itself
PAGE, BEFORE = 500, 200  # traces examined in one run, and earlier traces they are compared with
_LAST = (
    f"SELECT t.uuid FROM {TraceGrain._meta.db_table} r JOIN {Trace._meta.db_table} t ON t.id = r.trace_id "  # noqa: S608
    "WHERE r.space_id = %s AND r.grain_id = %s AND t.actor = %s AND t.at >= %s AND t.at <= %s "
    "ORDER BY r.trace_id DESC LIMIT 1"
)
_SINCE = (
    f"SELECT COUNT(*) FROM {Trace._meta.db_table} WHERE space_id = %s AND actor = %s AND at <= %s "  # noqa: S608
    f"AND id > (SELECT id FROM {Trace._meta.db_table} WHERE uuid = %s)"
)


class InferredVote(NamedTuple):
    """A vote against a grain, inferred from the caller's behaviour."""

    trace: UUID
    grain: int
    corrected: bool


def notice_recalls(asked: Iterable[tuple[int, int, str]]) -> None:
    """Request the examination of written traces (space, id, actor); one job for all that are written meanwhile."""
    if not config.current().IMPLIED_VOTES_ENABLED:
        return
    first: dict[int, int] = {}
    for space, number, actor in asked:
        if actor.startswith("agent:"):
            first[space] = min(number, first.get(space, number))
    now = time.monotonic()
    for space, after in sorted(first.items()):
        if now >= _asked.get(space, 0.0):
            _asked[space] = now + AFTER.total_seconds() / 2  # that run reads all traces written until then
            jobs.ask_for_implied(space, after=after, due_at=clock.now() + AFTER)


_asked: dict[int, float] = {}  # by space: time until which a run requested by this process is pending


def notice_near_grains(space: int, pairs: Sequence[tuple[int, int]]) -> None:
    """Request the examination of new grains similar to old ones (new, old): they may be corrections."""
    if pairs and config.current().IMPLIED_VOTES_ENABLED:
        jobs.ask_for_implied(space, pairs=[list(pair) for pair in pairs[:PAGE]])


def infer_votes(run: Run) -> Apply | None:
    """The handler of `learning.infer`."""
    space = run.space
    if space is None:
        return None
    found = _corrected(space, run.args["pairs"]) if "pairs" in run.args else _rephrased(space, int(run.args["after"]))
    return (lambda: _apply(run, space, found)) if found else None


def _rephrased(space: int, after: int) -> list[InferredVote]:
    """Votes against grains that a question returned and its rephrased version did not."""
    kept = Trace.objects.filter(space=space).defer("body")
    older, since = kept.filter(id__lt=after).order_by("-id"), kept.filter(id__gte=after).order_by("id")
    by_actor: dict[str, list[Trace]] = {}
    for row in [*reversed(older[:BEFORE]), *since[:PAGE]]:
        by_actor.setdefault(row.actor, []).append(row)
    pairs = [
        (earlier, later)
        for actor, turns in by_actor.items()
        if actor.startswith("agent:")
        for place, later in enumerate(turns)
        if later.pk >= after
        for earlier in turns[max(place - config.current().CORRECTION_DETECTION_TURNS, 0) : place]
        if not earlier.rated and later.at - earlier.at <= WITHIN and _asks_again(later, earlier)
    ]
    shown = _shown(space, [one.pk for pair in pairs for one in pair])
    return [
        InferredVote(earlier.uuid, grain, False)
        for earlier, later in pairs
        for grain in shown.get(earlier.pk, ())
        if grain not in shown.get(later.pk, ())
    ]


def _asks_again(later: Trace, earlier: Trace) -> bool:
    first, second = (question.read_question(one.query, filters.epoch_seconds(one.at)) for one in (earlier, later))
    if rephrases(second, first, None):
        return True
    if not rephrases(second, first, 1.0):  # not even if their vectors were the same
        return False
    one, other = active_encoder.encode_query(earlier.query), active_encoder.encode_query(later.query)
    return one is not None and other is not None and rephrases(second, first, float(one @ other))


def _shown(space: int, numbers: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    held = TraceGrain.objects.filter(space=space, trace__in=numbers).order_by("place")
    for trace, grain in held.values_list("trace_id", "grain_id"):
        found.setdefault(trace, []).append(grain)
    return found


def _corrected(space: int, pairs: Sequence[Sequence[int]]) -> list[InferredVote]:
    """Votes against grains that were shown to a caller and then corrected by it."""
    numbers = {number for pair in pairs for number in pair}
    known = Grain.objects.in_bulk(sorted(numbers))
    found: list[InferredVote] = []
    for new, old in pairs:
        later, earlier = known.get(new), known.get(old)
        if later is None or earlier is None or not later.writer.startswith("agent:"):
            continue
        if corrects(later.text, earlier.text, filters.epoch_seconds(later.said_at or later.recorded_at)):
            trace = _answered(space, old, later.writer, later.recorded_at)
            if trace is not None:
                found.append(InferredVote(trace, old, True))
    return found


def _answered(space: int, grain: int, actor: str, until: datetime) -> UUID | None:
    """The last trace that returned the grain to the caller, if it was only a few recalls earlier."""
    with connection.cursor() as cursor:
        moment = raw_sql.adapt_moment(until)
        cursor.execute(_LAST, [space, grain, actor, raw_sql.adapt_moment(until - WITHIN), moment])
        found = cursor.fetchone()
        if found is None:
            return None
        cursor.execute(_SINCE, [space, actor, moment, found[0]])
        turns = cursor.fetchone()[0]
    if turns >= config.current().CORRECTION_DETECTION_TURNS:
        return None
    trace: UUID = Trace._meta.get_field("uuid").to_python(found[0])
    return trace


def _apply(run: Run, space: int, found: Sequence[InferredVote]) -> None:
    records = traces.load_traces(sorted({one.trace for one in found}))
    existing = set(Grain.objects.filter(space=space, id__in={one.grain for one in found}).values_list("id", flat=True))
    kept = [one for one in found if one.trace in records and one.grain in existing]
    if not kept:
        return
    questions = feedback.judged_questions(list(records.values()))
    scales = feedback.learning_scales({one.grain for one in kept})
    strength, moment = config.current().IMPLIED_VOTE_STRENGTH, clock.now()
    written = raw_sql.upsert(
        Vote,
        feedback.COLUMNS,
        [
            (
                space,
                questions[one.trace],
                one.grain,
                False,
                strength,
                scales[one.grain],
                False,
                None,
                True,
                one.corrected,
                moment,
                None,
                "",
                False,
                False,
            )
            for one in dict.fromkeys(kept)
        ],
        "ON CONFLICT (judged_id, grain_id) DO NOTHING RETURNING id",
    )
    if not written:
        return
    data: dict[str, Any] = {"votes": len(written), "corrected": sum(one.corrected for one in kept)}
    run.say(f"{len(written)} weak negative ratings inferred from repeated questions.")
    events.append("votes.implied", space=space, actor="worker", subject="", data=data)
    jobs.ask_for_learning(space)
