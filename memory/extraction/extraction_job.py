"""The job `extraction.extract`: sends one text of a space to the model and stores the statements it finds.

The text is stored already. The cost of a call and its turn are reserved in a commit before the call; its result is
written in one commit with the end of the job. If the model is down, slow or answers nonsense, texts only wait.
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

# Delay of a text after the model could not be reached, so that another text is tried first next time.
UNAVAILABLE_PAUSE = timedelta(minutes=1)
# Delays of a text after unusable answers, longer each time; after the last one it is given up.
RETRY_PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 10, 60, 360, 1440, 1440, 1440))
# One call at a time: with both threads of a worker waiting for the model, no other job would run.
_one = threading.Semaphore(1)
_BUSY = timedelta(seconds=1)
_WAITING, _DONE, _GIVEN_UP = (
    Extraction.ExtractionState.WAITING,
    Extraction.ExtractionState.DONE,
    Extraction.ExtractionState.GIVEN_UP,
)


@dataclass
class TakenText:
    """A text in progress and the cost of its calls: day, reserved tokens, and tokens the server counted."""

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
    """Reserve the next text with turn and budget; else the time of the next attempt; None if there is nothing to do."""
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
            without_share.add(row.asked_by)  # its texts wait until tomorrow, those of other agents do not
    later = circuit_breaker.take_turn()
    if later is not None:
        return later
    day = budget.reserve_call(space, prompt.max_call_tokens(row.grain), row.asked_by)
    if day is None:
        return None  # requested again each minute, once there is budget
    row.taken_until = now + timedelta(seconds=2 * config.current().LLM_TIMEOUT_SECONDS + 60)
    row.save(update_fields=["taken_until"])
    return TakenText(row, [(day, None)])


def _unfit(grain: Grain) -> str:
    if grain.status in derived_grains.HELD:
        return f"the text is {grain.status}"
    return "" if prompt.fits_context(grain) else "the text is longer than the model can read at once"


def _put(run: Run, space: int, taken: TakenText) -> Apply:
    """Call the model outside any transaction; returns the write."""
    try:
        found = _asked(space, taken)
    except ModelCallStopped:
        return lambda: _let_go(taken, space)
    except ModelProblem as problem:
        message = str(problem)
        run.say(f"{config.current().LLM_MODEL}: {message}.")
        bad = isinstance(problem, BadModelAnswer)
        return lambda: _failed(space, taken, message, bad=bad)
    ready = derived_grains.prepare_items(taken.grain, taken.row.ceiling, found)
    model = config.current().LLM_MODEL
    return lambda: _keep(run, space, taken, ready, model)


def _asked(space: int, taken: TakenText) -> list[Statement]:
    """Statements the model found. After an unusable answer one more call is made, if the model is up."""
    try:
        return _once(taken)
    except BadModelAnswer:
        day = booth.write(lambda: _again(space, taken), lock=write_locks.lock_name(space))
        if day is None:
            raise
        taken.calls.append((day, None))
    return _once(taken)


def _again(space: int, taken: TakenText) -> date | None:
    """Reserve a second call at once; returns its day, None after failures of the server or without budget."""
    return (
        None if circuit_breaker.server_state().failures else budget.reserve_call(space, taken.most, taken.row.asked_by)
    )


def _once(taken: TakenText) -> list[Statement]:
    settings, grain = config.current(), taken.grain
    seconds = settings.LLM_TIMEOUT_SECONDS
    reply = ollama_client.ask_model(
        settings.LLM_BASE_URL, prompt.extraction_request(grain), seconds=seconds, stop=shutdown.is_shutting_down
    )
    taken.calls[-1] = taken.calls[-1][0], reply.tokens
    return model_answer.parse_answer(reply.content, source=grain.text, speaker=grain.speaker)


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


def _failed(space: int, taken: TakenText, message: str, *, bad: bool) -> None:
    _settle(space, taken, failed=True)
    circuit_breaker.record_failure(message)
    row = _still(taken)
    if row is not None:
        row.tries += bad
        if row.tries > len(RETRY_PAUSES):
            _end(row, _GIVEN_UP, problem=message)
        else:
            row.due_at = clock.now() + (RETRY_PAUSES[row.tries - 1] if bad else UNAVAILABLE_PAUSE)
            row.taken_until, row.problem = None, message[:200]
            row.save(update_fields=["tries", "due_at", "taken_until", "problem"])
    jobs.ask(space)


def _let_go(taken: TakenText, space: int) -> None:
    Extraction.objects.filter(pk=taken.row.pk).update(taken_until=None)
    jobs.ask(space)


def _settle(space: int, taken: TakenText, *, failed: bool) -> None:
    """Settle the cost of the calls: of two, the first failed, and the reply is that of the last."""
    for place, (day, spent) in enumerate(taken.calls):
        last = place == len(taken.calls) - 1
        budget.settle_call(space, day, taken=taken.most, spent=spent, failed=failed or not last, who=taken.row.asked_by)


def _still(taken: TakenText) -> Extraction | None:
    """Whether the text still waits: it may have been purged or taken by another worker since."""
    found = Extraction.objects.filter(pk=taken.row.pk, state=_WAITING, taken_until=taken.row.taken_until)
    return found.select_related("grain__space").first()


def _end(row: Extraction, state: str, *, problem: str = "", found: int = 0) -> None:
    row.state, row.problem, row.found = state, problem[:200], found
    row.taken_until, row.finished_at = None, clock.now()
    row.save(update_fields=["state", "problem", "found", "taken_until", "finished_at", "tries"])
