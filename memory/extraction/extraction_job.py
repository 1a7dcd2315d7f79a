"""The job `extraction.extract`: one text of a space is put to the model, and what it found becomes grains.

The text was safe before. What a call costs is counted, and the turn taken, in a commit of its own before the call;
what came of it is one commit with the job's end. A model that is away, slow or talks nonsense only makes texts wait.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db import transaction
from django.db.models import Q

from fluxcore import clock, config
from fluxcore.errors import QuotaReached
from fluxcore.work import shutdown
from fluxcore.work.run import Apply, Run
from fluxcore.writes import booth, write_locks
from memory.extraction import budget, circuit_breaker, derived_grains, jobs, mode, model_answer, ollama_client, prompt
from memory.extraction.model_answer import Statement
from memory.extraction.models import Extraction
from memory.extraction.ollama_client import BadModelAnswer, ModelCallStopped, ModelProblem
from memory.grains.grain_input import GrainInput
from memory.grains.models import Grain

# A model that cannot be reached makes a text wait so long: another one is tried first next time.
UNAVAILABLE_PAUSE = timedelta(minutes=1)
# Answers that cannot be used make it wait longer each time, and in the end for somebody to ask again.
RETRY_PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 10, 60, 360, 1440, 1440, 1440))
# Both of a worker's threads waiting for a model would keep everything else waiting too.
_one = threading.Semaphore(1)
_BUSY = timedelta(seconds=1)
_WAITING, _DONE, _GIVEN_UP = Extraction.State.WAITING, Extraction.State.DONE, Extraction.State.GIVEN_UP


@dataclass
class TakenText:
    """A text in hand, and what its calls may cost: day, most, and what the server said."""

    row: Extraction
    calls: list[tuple[date, int | None]]

    @property
    def grain(self) -> Grain:
        return self.row.grain

    @property
    def most(self) -> int:
        return prompt.max_call_tokens(self.grain)


def extract(run: Run) -> Apply | None:
    """The handler of `extraction.extract`."""
    space = run.space
    if space is None:
        return None
    if not mode.on():
        run.say("The mode is caller_extracts: no model is used.")
        return None
    if not _one.acquire(blocking=False):
        return lambda: jobs.ask(space, due_at=clock.now() + _BUSY)
    try:
        taken = booth.write(lambda: _take(space), lock=write_locks.lock_name(space))
        if isinstance(taken, datetime):
            again = taken
            return lambda: jobs.ask(space, due_at=again)
        return _put(run, space, taken) if taken is not None else None
    finally:
        _one.release()


def _take(space: int) -> TakenText | datetime | None:
    """The next text, the model's turn and the money for it; when to come again; None: nothing can be done now."""
    now, without_share = clock.now(), set[str]()
    while True:
        row = (
            Extraction.objects.filter(Q(taken_until=None) | Q(taken_until__lt=now), space=space, state=_WAITING)
            .filter(due_at__lte=now)
            .exclude(asked_by__in=without_share)
            .select_related("grain__space")
            .order_by("due_at", "id")
            .first()
        )
        if row is None:
            return None
        why = _unfit(row.grain)
        if why:
            _end(row, _GIVEN_UP, problem=why)
        elif budget.fits_share(space, prompt.max_call_tokens(row.grain), row.asked_by):
            break
        else:
            without_share.add(row.asked_by)  # its texts wait for tomorrow; those of the others do not
    later = circuit_breaker.take_turn()
    if later is not None:
        return later
    day = budget.reserve_call(space, prompt.max_call_tokens(row.grain), row.asked_by)
    if day is None:
        return None  # the minute asks again once there is money
    row.taken_until = now + timedelta(seconds=2 * config.current().LLM_TIMEOUT_SECONDS + 60)
    row.save(update_fields=["taken_until"])
    return TakenText(row, [(day, None)])


def _unfit(grain: Grain) -> str:
    if grain.status in derived_grains.HELD:
        return f"the text is {grain.status}"
    return "" if prompt.fits_context(grain) else "the text is longer than the model can read at once"


def _put(run: Run, space: int, taken: TakenText) -> Apply:
    """Ask, outside any transaction; what is to be written then."""
    try:
        found = _asked(space, taken)
    except ModelCallStopped:
        return lambda: _let_go(taken, space)
    except ModelProblem as problem:
        said = str(problem)
        run.say(f"{config.current().LLM_MODEL}: {said}.")
        bad = isinstance(problem, BadModelAnswer)
        return lambda: _failed(space, taken, said, bad=bad)
    ready = derived_grains.prepare_items(taken.grain, taken.row.ceiling, found)
    model = config.current().LLM_MODEL
    return lambda: _keep(run, space, taken, ready, model)


def _asked(space: int, taken: TakenText) -> list[Statement]:
    """What the model found. An answer that cannot be used is asked for once more, while the model is well."""
    try:
        return _once(taken)
    except BadModelAnswer:
        day = booth.write(lambda: _again(space, taken), lock=write_locks.lock_name(space))
        if day is None:
            raise
        taken.calls.append((day, None))
    return _once(taken)


def _again(space: int, taken: TakenText) -> date | None:
    """On trial after a failure there is one call to a turn, and no second at once."""
    return (
        None if circuit_breaker.server_state().failures else budget.reserve_call(space, taken.most, taken.row.asked_by)
    )


def _once(taken: TakenText) -> list[Statement]:
    settings, grain = config.current(), taken.grain
    seconds = settings.LLM_TIMEOUT_SECONDS
    said = ollama_client.ask_model(
        settings.LLM_BASE_URL, prompt.extraction_request(grain), seconds=seconds, stop=shutdown.is_shutting_down
    )
    taken.calls[-1] = taken.calls[-1][0], said.tokens
    return model_answer.parse_answer(said.content, source=grain.text, speaker=grain.speaker)


def _keep(run: Run, space: int, taken: TakenText, ready: list[tuple[GrainInput, Statement]], model: str) -> None:
    _settle(space, taken, failed=False)
    circuit_breaker.record_success()
    row = _still(taken)
    if row is not None:
        why, count = _unfit(row.grain), 0
        if not why:
            try:
                with transaction.atomic():
                    count = derived_grains.store_statements(row.grain, ready, model)
            except QuotaReached as refusal:
                why = refusal.message
        _end(row, _GIVEN_UP if why else _DONE, problem=why, found=count)
        run.say(why or f"{model}: {count} memories extracted.")
    jobs.ask(space)


def _failed(space: int, taken: TakenText, said: str, *, bad: bool) -> None:
    _settle(space, taken, failed=True)
    circuit_breaker.record_failure(said)
    row = _still(taken)
    if row is not None:
        row.tries += bad
        if row.tries > len(RETRY_PAUSES):
            _end(row, _GIVEN_UP, problem=said)
        else:
            row.due_at = clock.now() + (RETRY_PAUSES[row.tries - 1] if bad else UNAVAILABLE_PAUSE)
            row.taken_until, row.problem = None, said[:200]
            row.save(update_fields=["tries", "due_at", "taken_until", "problem"])
    jobs.ask(space)


def _let_go(taken: TakenText, space: int) -> None:
    Extraction.objects.filter(pk=taken.row.pk).update(taken_until=None)
    jobs.ask(space)


def _settle(space: int, taken: TakenText, *, failed: bool) -> None:
    """Of two calls the first one failed; of the last one we are told."""
    for place, (day, spent) in enumerate(taken.calls):
        last = place == len(taken.calls) - 1
        budget.settle_call(space, day, taken=taken.most, spent=spent, failed=failed or not last, who=taken.row.asked_by)


def _still(taken: TakenText) -> Extraction | None:
    """Whether the text still waits: it may have been purged, or taken by somebody else, since."""
    found = Extraction.objects.filter(pk=taken.row.pk, state=_WAITING, taken_until=taken.row.taken_until)
    return found.select_related("grain__space").first()


def _end(row: Extraction, state: str, *, problem: str = "", found: int = 0) -> None:
    row.state, row.problem, row.found = state, problem[:200], found
    row.taken_until, row.finished_at = None, clock.now()
    row.save(update_fields=["state", "problem", "found", "taken_until", "finished_at", "tries"])
