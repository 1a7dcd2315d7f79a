"""What health costs after ten times the recalls and votes: a tick of the worker, GET /health, the Vitals page."""

from __future__ import annotations

import json
import statistics
import time
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from benchmarks.home import prepare

FEW, MANY = 2_000, 20_000  # judged recalls in the past
NEW, ROUNDS = 100, 15  # judged recalls between two ticks
DAYS = 28


def main() -> None:
    prepare()
    from accounts import agents
    from accounts.models import Space
    from accounts.principals import shell
    from fluxcore import clock, events
    from fluxcore.work import worker
    from fluxcore.work.run import Run
    from fluxcore.writes import booth
    from memory.arena.changes import Changes
    from memory.grains import store
    from memory.grains.models import Grain, JudgedQuestion, Trace, Vote
    from memory.health import gather, history, instance_health, measure
    from memory.health import jobs as health_jobs

    agents.create_space(shell(), name="much")
    facts = [{"content": f"Fact {number} about Porto and its {number} bridges"} for number in range(100)]
    spaces: dict[str, Any] = {}
    for name, space in (("few", Space.objects.exclude(name="much").get()), ("many", Space.objects.get(name="much"))):
        store.store_batch(shell(space), items=facts)
        spaces[name] = space
    worker.drain()

    def happen(space: Any, count: int, *, over_days: float) -> None:
        """So many answers, each judged, evenly over the last days; told to the log as the house tells it."""
        grain = Grain.objects.filter(space=space).order_by("id").first()
        moments = [clock.now() - timedelta(days=over_days * place / count) for place in range(count)]
        traces = Trace.objects.bulk_create(
            Trace(
                space=space, actor="agent:bench", at=at, query="q", rung="warm", confidence=0.7, hop_count=1, body="{}"
            )
            for at in moments
        )
        judged = JudgedQuestion.objects.bulk_create(
            JudgedQuestion(uuid=one.uuid, space=space, actor=one.actor, asked_at=one.at, query="q", terms=b"")
            for one in traces
        )
        Vote.objects.bulk_create(
            Vote(
                space=space,
                judged=one,
                grain=grain,
                useful=place % 3 > 0,
                strength=1,
                scale=1,
                at=one.asked_at,
                applied=True,
            )
            for place, one in enumerate(judged)
        )
        said = {"actor": "agent:bench", "confidence": 0.7, "hops": 1, "fallback": False, "grains": 5, "rung": "warm"}

        def tell() -> None:
            for begin in range(0, count, 50):
                part = judged[begin : begin + 50]
                recalls = [{"trace": str(uuid.uuid4()), **said} for _ in part]
                events.append("grains.recalled", space=space.pk, actor="", subject="", data={"recalls": recalls})
                packed = Changes(judged=tuple(one.pk for one in part)).pack()
                events.append(
                    "votes.applied", space=space.pk, actor="worker", subject="", data={"votes": 50}, packed=packed
                )

        booth.write(tell)

    def tick(space: Any) -> None:
        booth.write(gather.gather(Run(0, uuid.uuid4(), health_jobs.GATHER, None, {}, 1)))
        booth.write(measure.measure(Run(0, uuid.uuid4(), health_jobs.MEASURE, space.pk, {}, 1)))

    ways: dict[str, tuple[Callable[[Any], object], Callable[[Any], object]]] = {
        "a tick of the worker": (lambda space: happen(space, NEW, over_days=0.01), tick),
        "GET /health": (lambda _: None, lambda space: [instance_health.health(shell(space)) for _ in range(10)]),
        "the month of the Vitals page": (
            lambda _: None,
            lambda space: [history.timeline(shell(space), over="month"), history.weekly_hit_rates(shell(space))],
        ),
    }
    happen(spaces["few"], FEW, over_days=DAYS)
    happen(spaces["many"], MANY, over_days=DAYS)
    for space in (*spaces.values(), *spaces.values()):
        tick(space)
    took: dict[str, dict[str, list[float]]] = {what: {"few": [], "many": []} for what in ways}
    for _ in range(ROUNDS):  # side by side, so that whatever else the machine does harms both
        for what, (prepared, work) in ways.items():
            for name, space in spaces.items():
                prepared(space)
                began = time.process_time()
                work(space)
                took[what][name].append(time.process_time() - began)
    print(
        json.dumps(
            [
                {
                    "what": f"{what} after {MANY:,} judged recalls ÷ after {FEW:,}",
                    "ratio": statistics.median(many / few for many, few in zip(one["many"], one["few"], strict=True)),
                    "goal": "≤ 1.2",
                    "measured": " ÷ ".join(f"{statistics.median(one[name]) * 1e3:.1f}" for name in ("many", "few"))
                    + " ms CPU",
                    "rounds": one,
                }
                for what, one in took.items()
            ]
        )
    )


if __name__ == "__main__":
    main()
