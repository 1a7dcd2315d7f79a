"""Feedback verbs: votes on the grains of an answer, written at once and applied by the worker soon after.

One vote per question and grain; a later one replaces it, and it can be withdrawn. Only the caller of the recall can
vote, and only on grains of the answer, or on grains that were missing from it.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
from django.db import connection

from accounts import origins
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, verb
from fluxcore import clock, config, raw_sql
from fluxcore.errors import FluxError, Invalid, NotFound, NotReturned
from fluxcore.writes.limits import Ticket
from memory.engine.kinds import MADE_KINDS
from memory.engine.text import question
from memory.grains import sources
from memory.grains.models import Grain, JudgedQuestion, Trace, Vote
from memory.learning import jobs, vote_input
from memory.learning.vote_input import VoteInput
from memory.recall import filters, pending_feedback, traces
from memory.recall.trace_record import TraceRecord

# Names of the effects of a vote in the API of flux-memory.
ACTIONS = {True: "reinforced", False: "penalized"}
_JUDGED = ("uuid", "space", "actor", "label", "asked_at", "query", "terms", "encoder")
COLUMNS = (
    "space",
    "judged",
    "grain",
    "useful",
    "strength",
    "scale",
    "missed",
    "place",
    "implied",
    "corrected",
    "at",
    "undone_at",
    "undone_by",
    "applied",
    "counted",
)
_TABLE, _TRACES = Vote._meta.db_table, Trace._meta.db_table
_OR_FIND = f"ON CONFLICT (uuid) DO UPDATE SET uuid = {JudgedQuestion._meta.db_table}.uuid RETURNING id, uuid"
# An identical vote changes nothing: it must not be applied twice.
_OR_REPLACE = (
    "ON CONFLICT (judged_id, grain_id) DO UPDATE SET useful = excluded.useful, strength = excluded.strength, "
    "scale = excluded.scale, missed = excluded.missed, place = excluded.place, implied = excluded.implied, "
    "corrected = excluded.corrected, at = excluded.at, "
    "undone_at = NULL, undone_by = '', applied = excluded.applied "
    f"WHERE {_TABLE}.useful <> excluded.useful OR {_TABLE}.strength <> excluded.strength "
    f"OR {_TABLE}.implied <> excluded.implied OR {_TABLE}.undone_at IS NOT NULL RETURNING judged_id, grain_id"
)


@dataclass(frozen=True)
class NewVote:
    """One vote before it is written."""

    grain: int
    outside: str
    useful: bool
    strength: float
    missed: bool
    place: int | None


@dataclass(frozen=True)
class JudgedAnswer:
    """Votes of one validated input on one answer."""

    given: VoteInput
    trace: TraceRecord
    votes: tuple[NewVote, ...]


@verb("grains.feedback", needs="grains.feedback")
def feedback(call: RunningCall, **given: Any) -> Change:
    """Say whether a grain of an answer was useful, or what was missing from it."""
    checked = vote_input.check_vote_input(given)
    ticket = _count(call, checked.votes)
    answer = _VoteTargets(call.principal, [checked]).judge(checked)

    def change() -> dict[str, Any]:
        ticket.take()
        scale = learning_scales(_grains_of([answer]), {checked.trace})
        _refuse_purged_grains(answer, scale)
        return _record(call, [answer], scale)[0]

    return change


@verb("grains.feedback_batch", needs="grains.feedback")
def feedback_batch(call: RunningCall, *, items: object) -> Change:
    """Up to a hundred vote inputs, each recorded or refused on its own."""
    if not isinstance(items, list) or not 1 <= len(items) <= vote_input.MAX_ITEMS:
        raise Invalid(f"items must be a list of 1 to {vote_input.MAX_ITEMS} objects.", field="items")
    valid: list[tuple[int, VoteInput]] = []
    results: list[dict[str, Any]] = [{} for _ in items]
    for index, item in enumerate(items):
        try:
            if not isinstance(item, dict):
                raise Invalid("Each item must be an object.", field="items")
            valid.append((index, vote_input.check_vote_input(item)))
        except FluxError as error:
            results[index] = _refused(index, error)
    ticket = _count(call, sum(checked.votes for _, checked in valid) + len(items) - len(valid))
    targets = _VoteTargets(call.principal, [checked for _, checked in valid])
    judged: list[tuple[int, JudgedAnswer]] = []
    for index, checked in valid:
        try:
            judged.append((index, targets.judge(checked)))
        except FluxError as error:
            results[index] = _refused(index, error)

    def change() -> dict[str, Any]:
        ticket.take()
        scale = learning_scales(_grains_of([answer for _, answer in judged]), {answer.trace.id for _, answer in judged})
        accepted: list[tuple[int, JudgedAnswer]] = []
        for index, answer in judged:
            try:
                _refuse_purged_grains(answer, scale)
                accepted.append((index, answer))
            except NotFound as error:
                results[index] = _refused(index, error)
        recorded = _record(call, [answer for _, answer in accepted], scale) if accepted else []
        for (index, _), result in zip(accepted, recorded, strict=True):
            results[index] = {"index": index, **result, "error": None}
        if not accepted:
            call.record("", refused=len(items))
        return {"results": results, "count": len(accepted), "refused": len(items) - len(accepted)}

    return change


@verb("grains.withdraw_feedback", needs="grains.feedback")
def withdraw(call: RunningCall, *, trace: str, grain: str) -> Change:
    """Withdraw the caller's own vote; its effect is undone exactly."""
    try:
        ids = uuid.UUID(trace), uuid.UUID(grain)
    except (ValueError, TypeError, AttributeError):
        raise Invalid(
            "trace_id and grain_id must be the ids of a trace and of a memory in it.", field="trace_id"
        ) from None
    vote = Vote.objects.filter(judged__uuid=ids[0], grain__uuid=ids[1], judged__actor=call.principal.actor).first()
    if vote is None or not call.principal.reaches(vote.space_id):
        raise NotFound("You gave no such feedback.")
    call.space = vote.space_id

    def change() -> dict[str, Any]:
        changed = Vote.objects.filter(pk=vote.pk, undone_at=None).update(
            undone_at=clock.now(), undone_by=call.principal.actor, applied=False
        )
        call.record(str(ids[1]), trace=str(ids[0]), changed=bool(changed))
        if changed:
            call.event("vote.withdrawn", str(ids[1]), {"trace": str(ids[0])})
            jobs.ask_for_learning(vote.space_id)
        return {"trace_id": str(ids[0]), "grain_id": str(ids[1]), "changed": bool(changed)}

    return change


def _count(call: RunningCall, votes: int) -> Ticket:
    return call.share("votes", cost=votes, limit=config.current().MAX_VOTES_PER_MINUTE)


def _refused(index: int, error: FluxError) -> dict[str, Any]:
    return {"index": index, "status": "refused", "error": error.body()}


class _VoteTargets:
    """Traces and grains of vote inputs, read in two statements whatever their number."""

    def __init__(self, principal: Principal, given: Sequence[VoteInput]) -> None:
        self.principal = principal
        trace_ids = {checked.trace for checked in given}
        traces.write_queued(trace_ids)
        self.traces = traces.load_traces([*trace_ids]) if trace_ids else {}
        spaces = {trace.space for trace in self.traces.values() if principal.reaches(trace.space)}
        grain_ids = {grain for checked in given for grain in (checked.grain, *checked.missed) if grain is not None}
        found = Grain.objects.filter(uuid__in=grain_ids, space__in=spaces).values_list(
            "uuid", "id", "space_id", "status"
        )
        rows = list(found)
        self.grains = {(outside, space): number for outside, number, space, _ in rows}
        self.hidden = self._hidden([(number, space, kind) for _, number, space, kind in rows if kind in MADE_KINDS])

    def _hidden(self, made: Sequence[tuple[int, int, str]]) -> set[int]:
        """Numbers of passages, messages and values that the caller may not read: it cannot say that it missed them."""
        shown: set[int] = set()
        for space in {space for _, space, _ in made}:
            shown |= set(
                sources.citations(self.principal, space, [(one, kind) for one, own, kind in made if own == space])
            )
        return {number for number, _, _ in made} - shown

    def judge(self, checked: VoteInput) -> JudgedAnswer:
        """The votes of one input with their trace; refused for a trace or a grain that the caller cannot judge."""
        trace = self.traces.get(checked.trace)
        mine = trace is not None and trace.actor == self.principal.actor
        if trace is None or not mine or not self.principal.reaches(trace.space):
            raise NotFound(
                "You have no trace with this id. Only the caller of a recall can give feedback, until its "
                "trace is deleted."
            )
        returned = {grain["id"]: place for place, grain in enumerate(trace.body["grains"], start=1)}
        votes: list[NewVote] = []
        if checked.grain is not None:
            if str(checked.grain) not in returned:
                raise NotReturned(grain_id=str(checked.grain))
            votes.append(self._new_vote(trace, checked.grain, checked, checked.useful, returned[str(checked.grain)]))
        for grain in checked.missed:
            if grain != checked.grain:
                votes.append(self._new_vote(trace, grain, checked, True, returned.get(str(grain))))
        return JudgedAnswer(checked, trace, tuple(votes))

    def _new_vote(
        self, trace: TraceRecord, grain: uuid.UUID, checked: VoteInput, useful: bool, place: int | None
    ) -> NewVote:
        number = self.grains.get((grain, trace.space))
        if number is None or (place is None and number in self.hidden):
            raise NotFound("There is no memory with this id.", grain_id=str(grain))
        return NewVote(number, str(grain), useful, checked.strength, place is None, place)


def _grains_of(answers: Sequence[JudgedAnswer]) -> set[int]:
    return {vote.grain for answer in answers for vote in answer.votes}


def _refuse_purged_grains(answer: JudgedAnswer, present: Mapping[int, float]) -> None:
    """Refuse, inside the write, a grain that was purged since it was read."""
    for vote in answer.votes:
        if vote.grain not in present:
            raise NotFound("There is no memory with this id.", grain_id=vote.outside)


def _record(call: RunningCall, answers: Sequence[JudgedAnswer], scale: Mapping[int, float]) -> list[dict[str, Any]]:
    """Write questions, votes and the rated flag of traces in a few statements."""
    moment = clock.now()
    judged_traces = {answer.trace.id: answer.trace for answer in answers}
    judged = judged_questions(list(judged_traces.values()))
    # Of several votes on one grain in a batch the last counts.
    votes = {(judged[answer.trace.id], vote.grain): (answer, vote) for answer in answers for vote in answer.votes}
    values = [
        (
            answer.trace.space,
            question,
            vote.grain,
            vote.useful,
            vote.strength,
            scale[vote.grain],
            vote.missed,
            vote.place,
            False,
            False,
            moment,
            None,
            "",
            False,
            False,
        )
        for (question, _), (answer, vote) in votes.items()
    ]
    changed = {(question, grain) for question, grain in raw_sql.upsert(Vote, COLUMNS, values, _OR_REPLACE)}
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {_TRACES} SET rated = %s WHERE uuid = %s",  # noqa: S608
            [(True, _stored(trace_id)) for trace_id in judged_traces],
        )
    for space in {answer.trace.space for answer in answers}:
        jobs.ask_for_learning(space)
    for answer in answers:
        pending_feedback.mark_judged(answer.trace.space, answer.trace.actor, [str(answer.trace.id)])
    return [_result(call, answer, judged[answer.trace.id], changed, scale) for answer in answers]


def _result(
    call: RunningCall, answer: JudgedAnswer, question: int, changed: set[tuple[int, int]], scale: Mapping[int, float]
) -> dict[str, Any]:
    trace = str(answer.trace.id)
    for vote in answer.votes:
        call.record(vote.outside, trace=trace, useful=vote.useful, strength=vote.strength, missed=vote.missed)
    new = [vote for vote in answer.votes if (question, vote.grain) in changed]
    for vote in new:
        call.event("vote.recorded", vote.outside, {"trace": trace, "useful": vote.useful, "missed": vote.missed})
    given = answer.given
    return {
        "trace_id": trace,
        "grain_id": str(given.grain) if given.grain else None,
        "useful": given.useful if given.grain else None,
        "strength": given.strength,
        "missed": [str(grain) for grain in given.missed],
        "status": "recorded",
        "changed": bool(new),
        **_flux_memory_fields(answer, scale),
    }


def _flux_memory_fields(answer: JudgedAnswer, scale: Mapping[int, float]) -> dict[str, Any]:
    """The result in the fields of flux-memory, whose REST answer and result have two names for one number."""
    vote = answer.votes[0]
    signal = round((1 if vote.useful else -1) * vote.strength * scale[vote.grain], 4)
    return {"ok": True, "action": ACTIONS[vote.useful], "signal": signal, "effective_signal": signal}


def judged_questions(records: Sequence[TraceRecord]) -> dict[uuid.UUID, int]:
    """Ids of the judged questions of these traces, created if they are new."""
    values = [
        (record.id, record.space, record.actor, record.label, record.at, record.query, _terms(record), "")
        for record in records
    ]
    rows = raw_sql.upsert(JudgedQuestion, _JUDGED, values, _OR_FIND)
    return {key if isinstance(key, uuid.UUID) else uuid.UUID(key): number for number, key in rows}


def _terms(record: TraceRecord) -> bytes:
    read = question.read_question(record.query, filters.epoch_seconds(record.at))
    return np.unique(read.keys).astype("<u8").tobytes()


def _stored(identity: uuid.UUID) -> Any:
    return Trace._meta.get_field("uuid").get_db_prep_value(identity, connection)


def learning_scales(grains: set[int], besides: Collection[uuid.UUID] = ()) -> dict[int, float]:
    """Learning scale by grain: how fast its paths learn, from its origin and its recent usefulness.

    Earlier votes on the answers that are voted on now (`besides`) are not counted, so that changing a vote and changing
    it back has the same result as leaving it.
    """
    if not grains:
        return {}
    numbers = sorted(grains)
    since = clock.now() - timedelta(days=config.current().USEFULNESS_WINDOW_DAYS)
    marks = ", ".join(["%s"] * len(numbers))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT g.id, g.authority, COUNT(v.id), COALESCE(SUM(CASE WHEN v.useful THEN 1 ELSE 0 END), 0) "  # noqa: S608
            f"FROM {Grain._meta.db_table} g LEFT JOIN {_TABLE} v ON v.space_id = g.space_id AND v.grain_id = g.id "
            f"AND v.at >= %s AND v.undone_at IS NULL AND NOT v.implied AND v.judged_id NOT IN "
            f"(SELECT id FROM {JudgedQuestion._meta.db_table} "
            f"WHERE uuid IN ({', '.join(['%s'] * len(besides)) or 'NULL'})) "
            f"WHERE g.id IN ({marks}) GROUP BY g.id, g.authority",
            [raw_sql.adapt_moment(since), *map(_stored, besides), *numbers],
        )
        found = cursor.fetchall()
    return {
        grain: config.PROVENANCE_MULTIPLIERS[origins.AUTHORITY[authority]] * (0.5 + (useful + 1) / (count + 2))
        for grain, authority, count, useful in found
    }
