"""Judged questions, counted once each: when a vote on one changes, the sums change by the difference."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from fluxcore import clock, raw_sql
from memory.grains.models import JudgedQuestion, Trace, Vote
from memory.health.event_sums import EventSums, counts_for_quality, hour_of
from memory.health.models import CountedQuestion
from memory.health.signals import BINS

_JUDGED, _VOTES, _TRACES = (model._meta.db_table for model in (JudgedQuestion, Vote, Trace))
_NOW = (
    "SELECT j.id, j.space_id, j.actor, j.label, j.asked_at, t.confidence, COUNT(v.id), "  # noqa: S608
    "COALESCE(SUM(CASE WHEN v.useful AND NOT v.missed THEN 1 ELSE 0 END), 0), "
    "COALESCE(SUM(CASE WHEN v.useful THEN 1 ELSE 0 END), 0) "
    f"FROM {_JUDGED} j LEFT JOIN {_TRACES} t ON t.uuid = j.uuid "
    f"LEFT JOIN {_VOTES} v ON v.judged_id = j.id AND v.undone_at IS NULL AND NOT v.implied WHERE "
)
_GROUP = " GROUP BY j.id, j.space_id, j.actor, j.label, j.asked_at, t.confidence"
_COLUMNS = ("space", "judged", "who", "hour", "confidence", "judged_now", "useful", "evidence")
_OR_REPLACE = (
    "ON CONFLICT (judged) DO UPDATE SET judged_now = excluded.judged_now, useful = excluded.useful, "
    "evidence = excluded.evidence RETURNING id"
)
_TOGETHER = 500


@dataclass(frozen=True)
class QuestionVotes:
    """Summary of the votes on one question."""

    space: int
    who: str
    hour: int
    confidence: float | None
    judged: bool
    useful: bool
    evidence: bool

    def count(self, sheet: EventSums, sign: int) -> None:
        if not self.judged:
            return
        sheet.add(self.space, self.hour, "judged", sign)
        sheet.add(self.space, self.hour, "judged", sign, who=self.who)
        hit = sign * float(self.useful)
        sheet.add(self.space, self.hour, "hits", hit)
        if self.confidence is not None:
            part = f"sure{min(int(self.confidence * BINS), BINS - 1)}"
            sheet.add(self.space, self.hour, f"{part}.count", sign)
            sheet.add(self.space, self.hour, f"{part}.sum", sign * self.confidence)
            sheet.add(self.space, self.hour, f"{part}.hits", hit)


def add_changed_votes(sheet: EventSums) -> None:
    """Read every question whose votes changed and add the differences to the sums. Call inside a write."""
    for questions in sheet.judged.values():
        wanted = sorted(questions)
        for begin in range(0, len(wanted), _TOGETHER):
            _settle(sheet, wanted[begin : begin + _TOGETHER])


def _settle(sheet: EventSums, questions: Sequence[int]) -> None:
    counted = {
        row.judged: QuestionVotes(
            row.space_id, row.who, row.hour, row.confidence, row.judged_now, row.useful, row.evidence
        )
        for row in CountedQuestion.objects.filter(judged__in=questions)
    }
    present = dict(_now(questions))
    updated: dict[int, QuestionVotes] = {}
    for question in {*counted, *present}:
        earlier, votes = counted.get(question), present.get(question)
        if earlier is not None:
            # Trace or question may have been deleted since; the caller and hour it was counted under are kept.
            found = (votes.judged, votes.useful, votes.evidence) if votes else (False, False, False)
            earlier.count(sheet, -1)
            votes = QuestionVotes(earlier.space, earlier.who, earlier.hour, earlier.confidence, *found)
        if votes is not None:
            votes.count(sheet, 1)
            updated[question] = votes
    values = [
        (one.space, question, one.who, one.hour, one.confidence, one.judged, one.useful, one.evidence)
        for question, one in updated.items()
    ]
    if values:
        raw_sql.upsert(CountedQuestion, _COLUMNS, values, _OR_REPLACE)


def _now(questions: Sequence[int]) -> Iterable[tuple[int, QuestionVotes]]:
    where, values = _among(questions)
    with connection.cursor() as cursor:
        cursor.execute(f"{_NOW}{where}{_GROUP}", [values])
        found = cursor.fetchall()
    for number, space, actor, label, asked, confidence, votes, useful, evidence in found:
        if counts_for_quality(actor, label):
            hour = hour_of(clock.parse(clock.rfc3339(asked) or "").timestamp())
            yield number, QuestionVotes(space, actor, hour, confidence, votes > 0, useful > 0, evidence > 0)


def _among(numbers: Sequence[int]) -> tuple[str, Any]:
    if connection.vendor == "postgresql":
        return "j.id = ANY(%s)", list(numbers)
    return "j.id IN (SELECT value FROM json_each(%s))", json.dumps(list(numbers))
