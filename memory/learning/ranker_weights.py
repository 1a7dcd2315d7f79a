"""Ranker weights of a space: fitted by the worker to its present votes, one row, deleted when the votes are undone.

Only the latest judged questions are recalled again, without what was learned from them, so that a fit costs the same
however long the history is. A change that helps one caller's questions is used only if no other caller's get worse.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from fluxcore import clock, events
from fluxcore.work.run import Apply, Run
from memory.arena.arena import Arena
from memory.arena.cache import arena_cache
from memory.arena.changes import Changes
from memory.engine.index.space_index import ACTIVE, END_OF_TIME, STATUSES, Index
from memory.engine.kinds import MADE_KINDS
from memory.engine.learning import vote_sums
from memory.engine.learning import weight_fitting as engine
from memory.engine.ranking import features, rank
from memory.engine.ranking.scoring import score_candidates
from memory.engine.text import question
from memory.grains.models import JudgedQuestion, SpaceRankerWeights, Vote
from memory.learning import jobs
from memory.recall import engine_settings, filters

PAUSE = timedelta(minutes=5)  # delay between votes and fit, so that many votes cause one fit
SLICE = 16  # questions scored during one lock of the arena
WAIT = timedelta(seconds=5)  # delay of the next attempt while the arena is not loaded
_ASKED = (
    "SELECT j.id, j.query, j.asked_at, j.actor, j.terms, j.encoder, j.scale, j.data "  # noqa: S608
    f"FROM {JudgedQuestion._meta.db_table} j "
    f"WHERE j.space_id = %s AND EXISTS (SELECT 1 FROM {Vote._meta.db_table} v WHERE v.judged_id = j.id AND v.useful "
    "AND v.undone_at IS NULL) ORDER BY j.id DESC LIMIT %s"
)
_ENOUGH = f"SELECT 1 FROM {JudgedQuestion._meta.db_table} WHERE space_id = %s LIMIT 1 OFFSET %s"  # noqa: S608


@dataclass(frozen=True)
class AskedQuestion:
    """A judged question as it was asked."""

    text: str
    at: datetime
    actor: str
    terms: NDArray[np.uint64]
    encoder: str
    vector: NDArray[np.float32] | None


def request_fitting(space: int, *, at_once: bool) -> None:
    """Request a fit after votes were applied; `at_once` if votes were undone, whose effect must be removed."""
    if SpaceRankerWeights.objects.filter(space=space).exists():
        jobs.ask_for_attunement(space, due_at=None if at_once else clock.now() + PAUSE)
        return
    with connection.cursor() as cursor:
        cursor.execute(_ENOUGH, [space, engine.FEWEST_QUESTIONS - 1])
        enough = cursor.fetchone() is not None
    if enough:
        jobs.ask_for_attunement(space, due_at=clock.now() + PAUSE)


def fit_ranker_weights(run: Run) -> Apply | None:
    """The handler of `learning.fit_weights`."""
    space = run.space
    if space is None:
        return None
    questions = _fitting_questions(space, _asked(space))
    if questions is None:
        return lambda: jobs.ask_for_attunement(space, due_at=clock.now() + WAIT)
    found = engine.fit_weights(questions)
    run.say(_says(found))
    return lambda: _keep(space, found)


def _asked(space: int) -> list[AskedQuestion]:
    with connection.cursor() as cursor:
        cursor.execute(_ASKED, [space, engine.MOST_QUESTIONS])
        return [
            AskedQuestion(
                query,
                at,
                actor,
                np.frombuffer(bytes(terms), "<u8").astype(np.uint64),
                encoder,
                None if data is None else np.frombuffer(bytes(data), np.int8).astype(np.float32) * np.float32(scale),
            )
            for _, query, at, actor, terms, encoder, scale, data in cursor.fetchall()
        ]


def _fitting_questions(space: int, asked: list[AskedQuestion]) -> list[engine.FittingQuestion] | None:
    """The questions with their candidates and what was useful; None while the space has no arena."""
    found: dict[int, engine.FittingQuestion] = {}
    for begin in range(0, len(asked), SLICE):
        with arena_cache().arena(space) as (arena, _):
            if arena is None:
                return None
            for one in asked[begin : begin + SLICE]:
                fitting = _fitting_question(arena, one)
                if fitting is None:
                    continue
                if (same := found.get(fitting.key)) is not None:
                    fitting = replace(fitting, callers=same.callers | fitting.callers)
                found[fitting.key] = fitting
    return list(found.values())


def _fitting_question(arena: Arena, one: AskedQuestion) -> engine.FittingQuestion | None:
    index = arena.index
    vector = one.vector if one.encoder == arena.encoder else None
    key = vote_sums.question_identity(one.terms, vector)[0]
    judged = index.learned.questions.get(key) if index.learned else None
    useful = [row for row, credit in judged.credits.items() if credit > 0] if judged else []
    allowed = _recalled(index)
    useful = [row for row in useful if allowed[row]]
    if not useful:
        return None
    asked_at = filters.epoch_seconds(one.at)
    weighed = score_candidates(
        index,
        question.read_question(one.text, asked_at),
        vector,
        allowed=allowed,
        now=asked_at,
        settings=replace(engine_settings.current(), without=frozenset({"learning", "own"})),
        every=True,
    )
    if weighed is None:
        return None
    z, _ = features.standardise(weighed.features)
    return engine.FittingQuestion(
        key,
        weighed.scores.astype(np.float64),
        z.T,
        np.isin(weighed.candidates.rows[weighed.pool], useful),
        len(useful),
        frozenset({one.actor}),
    )


def _recalled(index: Index) -> NDArray[np.bool_]:
    """Rows that questions are answered from: active memories, and passages, messages and values of today."""
    status = index.column("status")
    made = np.isin(status, [STATUSES.index(kind) for kind in MADE_KINDS])
    rows: NDArray[np.bool_] = (status == ACTIVE) | (made & (index.column("valid_to") == END_OF_TIME))
    return rows


def _keep(space: int, found: engine.FittedWeights) -> None:
    """Write or delete the row of the weights, and notify arenas of a change."""
    weights = {name: round(float(step), 4) for name, step in zip(features.NAMES, found.weights, strict=True) if step}
    present = SpaceRankerWeights.objects.filter(space=space).values_list("weights", "version").first()
    if not found.moved:
        SpaceRankerWeights.objects.filter(space=space).delete()
    else:
        SpaceRankerWeights.objects.update_or_create(
            space_id=space,
            defaults={
                "version": rank.FITTED_RANKER.version,
                "weights": weights,
                "questions": found.questions,
                "before": found.before,
                "after": found.after,
                "at": clock.now(),
            },
        )
    if (present is not None or found.moved) and present != (weights, rank.FITTED_RANKER.version):
        data = {"questions": found.questions, "moved": round(float(np.linalg.norm(found.weights)), 3)}
        packed = Changes(attuned=True).pack()
        events.append("weights.attuned", space=space, actor="worker", subject="", data=data, packed=packed)


def _says(found: engine.FittedWeights) -> str:
    if found.questions < engine.FEWEST_QUESTIONS:
        return f"{found.questions} questions with feedback: too few to learn weights. The default weights are used."
    measured = f"held-out questions: nDCG {100 * found.before:.1f} → {100 * found.after:.1f}"
    if not found.moved:
        return f"{found.questions} questions with feedback, {measured}. The default weights are used."
    return f"{found.questions} questions with feedback, {measured}. New weights are used."
