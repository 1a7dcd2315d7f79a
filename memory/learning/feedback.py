"""A vote: the asker's word on a grain of an answer, durable at once, applied by the worker soon after.

One vote per question and grain; a later one replaces it, and it can be taken back. Who did not ask cannot vote, and
nobody votes on what the answer did not hold, except to say that it was missing.
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
from memory.engine.text import question
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

    ballot: VoteInput
    receipt: TraceRecord
    words: tuple[NewVote, ...]


@verb("grains.feedback", needs="grains.feedback")
def feedback(call: RunningCall, **given: Any) -> Change:
    """Say whether a grain of an answer was useful, or what was missing from it."""
    ballot = vote_input.check_vote_input(given)
    ticket = _count(call, ballot.votes)
    said = _VoteTargets(call.principal, [ballot]).said(ballot)

    def change() -> dict[str, Any]:
        ticket.take()
        scale = learning_scales(_named([said]), {ballot.trace})
        _refuse_what_is_gone(said, scale)
        return _record(call, [said], scale)[0]

    return change


@verb("grains.feedback_batch", needs="grains.feedback")
def feedback_batch(call: RunningCall, *, items: object) -> Change:
    """Up to a hundred ballots, each recorded or refused on its own."""
    if not isinstance(items, list) or not 1 <= len(items) <= vote_input.MAX_ITEMS:
        raise Invalid(f"items must be a list of 1 to {vote_input.MAX_ITEMS} objects.", field="items")
    good: list[tuple[int, VoteInput]] = []
    results: list[dict[str, Any]] = [{} for _ in items]
    for index, item in enumerate(items):
        try:
            if not isinstance(item, dict):
                raise Invalid("Each item must be an object.", field="items")
            good.append((index, vote_input.check_vote_input(item)))
        except FluxError as error:
            results[index] = _refused(index, error)
    ticket = _count(call, sum(ballot.votes for _, ballot in good) + len(items) - len(good))
    known = _VoteTargets(call.principal, [ballot for _, ballot in good])
    said: list[tuple[int, JudgedAnswer]] = []
    for index, ballot in good:
        try:
            said.append((index, known.said(ballot)))
        except FluxError as error:
            results[index] = _refused(index, error)

    def change() -> dict[str, Any]:
        ticket.take()
        scale = learning_scales(_named([one for _, one in said]), {one.receipt.id for _, one in said})
        there: list[tuple[int, JudgedAnswer]] = []
        for index, one in said:
            try:
                _refuse_what_is_gone(one, scale)
                there.append((index, one))
            except NotFound as error:
                results[index] = _refused(index, error)
        answers = _record(call, [one for _, one in there], scale) if there else []
        for (index, _), answer in zip(there, answers, strict=True):
            results[index] = {"index": index, **answer, "error": None}
        if not there:
            call.record("", refused=len(items))
        return {"results": results, "count": len(there), "refused": len(items) - len(there)}

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
        wanted = {ballot.trace for ballot in given}
        traces.write_queued(wanted)
        self.receipts = traces.load_traces([*wanted]) if wanted else {}
        spaces = {receipt.space for receipt in self.receipts.values() if principal.reaches(receipt.space)}
        named = {one for ballot in given for one in (ballot.grain, *ballot.missed) if one is not None}
        found = Grain.objects.filter(uuid__in=named, space__in=spaces).values_list("uuid", "id", "space_id")
        self.grains = {(outside, space): number for outside, number, space in found}

    def said(self, ballot: VoteInput) -> JudgedAnswer:
        receipt = self.receipts.get(ballot.trace)
        mine = receipt is not None and receipt.actor == self.principal.actor
        if receipt is None or not mine or not self.principal.reaches(receipt.space):
            raise NotFound(
                "You have no trace with this id. Only the caller of a recall can give feedback, until its "
                "trace is deleted."
            )
        returned = {grain["id"]: place for place, grain in enumerate(receipt.body["grains"], start=1)}
        words: list[NewVote] = []
        if ballot.grain is not None:
            if str(ballot.grain) not in returned:
                raise NotReturned(grain_id=str(ballot.grain))
            words.append(self._word(receipt, ballot.grain, ballot, ballot.useful, returned[str(ballot.grain)]))
        for one in ballot.missed:
            if one != ballot.grain:
                words.append(self._word(receipt, one, ballot, True, returned.get(str(one))))
        return JudgedAnswer(ballot, receipt, tuple(words))

    def _word(
        self, receipt: TraceRecord, grain: uuid.UUID, ballot: VoteInput, useful: bool, place: int | None
    ) -> NewVote:
        number = self.grains.get((grain, receipt.space))
        if number is None:
            raise NotFound("There is no memory with this id.", grain_id=str(grain))
        return NewVote(number, str(grain), useful, ballot.strength, place is None, place)


def _named(given: Sequence[JudgedAnswer]) -> set[int]:
    return {word.grain for said in given for word in said.words}


def _refuse_what_is_gone(said: JudgedAnswer, there: Mapping[int, float]) -> None:
    """Refuse, inside the write, a grain that was purged since it was read."""
    for word in said.words:
        if word.grain not in there:
            raise NotFound("There is no memory with this id.", grain_id=word.outside)


def _record(call: RunningCall, given: Sequence[JudgedAnswer], scale: Mapping[int, float]) -> list[dict[str, Any]]:
    """Write questions, votes and the rated flag of traces in a few statements."""
    moment = clock.now()
    receipts = {said.receipt.id: said.receipt for said in given}
    judged = judged_questions(list(receipts.values()))
    # Of several votes on one grain in a batch the last counts.
    words = {(judged[said.receipt.id], word.grain): (said, word) for said in given for word in said.words}
    values = [
        (
            said.receipt.space,
            question,
            word.grain,
            word.useful,
            word.strength,
            scale[word.grain],
            word.missed,
            word.place,
            False,
            False,
            moment,
            None,
            "",
            False,
            False,
        )
        for (question, _), (said, word) in words.items()
    ]
    changed = {(question, grain) for question, grain in raw_sql.upsert(Vote, COLUMNS, values, _OR_REPLACE)}
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {_TRACES} SET rated = %s WHERE uuid = %s",  # noqa: S608
            [(True, _stored(one)) for one in receipts],
        )
    for space in {said.receipt.space for said in given}:
        jobs.ask_for_learning(space)
    for said in given:
        pending_feedback.mark_judged(said.receipt.space, said.receipt.actor, [str(said.receipt.id)])
    return [_answer(call, said, judged[said.receipt.id], changed, scale) for said in given]


def _answer(
    call: RunningCall, said: JudgedAnswer, question: int, changed: set[tuple[int, int]], scale: Mapping[int, float]
) -> dict[str, Any]:
    trace = str(said.receipt.id)
    for word in said.words:
        call.record(word.outside, trace=trace, useful=word.useful, strength=word.strength, missed=word.missed)
    new = [word for word in said.words if (question, word.grain) in changed]
    for word in new:
        call.event("vote.recorded", word.outside, {"trace": trace, "useful": word.useful, "missed": word.missed})
    ballot = said.ballot
    return {
        "trace_id": trace,
        "grain_id": str(ballot.grain) if ballot.grain else None,
        "useful": ballot.useful if ballot.grain else None,
        "strength": ballot.strength,
        "missed": [str(one) for one in ballot.missed],
        "status": "recorded",
        "changed": bool(new),
        **_as_flux_memory_says(said, scale),
    }


def _as_flux_memory_says(said: JudgedAnswer, scale: Mapping[int, float]) -> dict[str, Any]:
    """The same in flux-memory's words; its REST answer and its result have two names for one number."""
    word = said.words[0]
    signal = round((1 if word.useful else -1) * word.strength * scale[word.grain], 4)
    return {"ok": True, "action": ACTIONS[word.useful], "signal": signal, "effective_signal": signal}


def judged_questions(receipts: Sequence[TraceRecord]) -> dict[uuid.UUID, int]:
    """Ids of the judged questions of these traces, created if they are new."""
    values = [(one.id, one.space, one.actor, one.label, one.at, one.query, _terms(one), "") for one in receipts]
    found = raw_sql.upsert(JudgedQuestion, _JUDGED, values, _OR_FIND)
    return {one if isinstance(one, uuid.UUID) else uuid.UUID(one): number for number, one in found}


def _terms(receipt: TraceRecord) -> bytes:
    read = question.read_question(receipt.query, filters.epoch_seconds(receipt.at))
    return np.unique(read.keys).astype("<u8").tobytes()


def _stored(identity: uuid.UUID) -> Any:
    return Trace._meta.get_field("uuid").get_db_prep_value(identity, connection)


def learning_scales(grains: set[int], besides: Collection[uuid.UUID] = ()) -> dict[int, float]:
    """By grain: how fast paths learn from it, by its origin and by how useful it was of late.

    What was said of the answers voted on now does not count: who changes their mind and changes it back has said the
    same as who never did.
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
