"""What votes cost: the conduits of a job against `bulk_update`, and whether a long history makes anything dearer."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks.home import prepare
from benchmarks.synthetic import Synthetic

GRAINS, CONDUITS, ROUNDS = 2_000, 60, 40
SHORT, LONG, PROBES = 500, 5_000, 60


def cpu(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def median(times: list[float]) -> float:
    return 1000 * statistics.median(times)


def written(space: int) -> tuple[float, float]:
    """Milliseconds to write 60 conduits as a job of votes does, and as the framework offers it."""
    from django.db import transaction

    from memory.grains.models import Conduit
    from memory.learning import weights
    from memory.learning.credit import ConduitCredit

    numbers = list(Conduit.objects.filter(space=space).order_by("id").values_list("id", flat=True)[:CONDUITS])
    ours, theirs = [], []
    for turn in range(ROUNDS):
        step = ConduitCredit(1 + turn, 0)
        with transaction.atomic():
            ours.append(
                cpu(lambda step=step: weights.apply_credits(dict.fromkeys(numbers, step), (), weights.ConduitUses()))
            )
        held = list(Conduit.objects.filter(id__in=numbers))
        for one in held:
            one.weight, one.used_at, one.use_count = one.weight * 0.999, one.used_at + 1, one.use_count + 1
        with transaction.atomic():
            theirs.append(cpu(lambda held=held: Conduit.objects.bulk_update(held, ["weight", "used_at", "use_count"])))
    return median(ours), median(theirs)


def lived(person: Any, made: Synthetic, questions: int) -> None:
    """So many recalls, each with a vote on its first grain."""
    from fluxcore.work import worker
    from memory.learning import feedback
    from memory.recall.recall import recall

    ballots: list[dict[str, Any]] = []
    for number in range(questions):
        answer = recall(person, query=made.question())
        if answer["grains"]:
            said = {"grain_id": answer["grains"][0]["id"], "useful": number % 3 > 0}
            ballots.append({"trace_id": answer["trace_id"], **said})
        if len(ballots) == 100 or number == questions - 1:
            feedback.feedback_batch(person, items=ballots)
            ballots = []
            worker.drain()


def probed(people: dict[str, Any], made: Synthetic) -> dict[str, dict[str, float]]:
    """Milliseconds of a recall, of a vote, and of what the worker does for it; by turns, so that noise is shared."""
    from fluxcore.work import worker
    from memory.learning import feedback
    from memory.recall.recall import recall

    found: dict[str, dict[str, list[float]]] = {name: {"recall": [], "vote": [], "applying it": []} for name in people}
    for _ in range(PROBES):
        query = made.question()
        for name, person in people.items():
            times, answers = found[name], []
            times["recall"].append(cpu(lambda who=person, q=query, into=answers: into.append(recall(who, query=q))))
            if not answers[0]["grains"]:
                continue
            said = {"trace_id": answers[0]["trace_id"], "grain_id": answers[0]["grains"][0]["id"], "useful": True}
            times["vote"].append(cpu(lambda who=person, said=said: feedback.feedback(who, **said)))
            times["applying it"].append(cpu(worker.drain))
    return {name: {what: median(some) for what, some in times.items()} for name, times in found.items()}


def somebody(name: str) -> Any:
    """An agent in a space of its own with the same grains as the others, without the limits of a minute."""
    from accounts import agents, tokens
    from accounts.principals import shell
    from fluxcore.work import worker
    from memory.embedding import active_encoder
    from memory.grains import store

    agents.create_space(shell(), name=name)
    agents.create_agent(shell(), space=name, name="voter", capabilities=list(agents.EVERYDAY_CAPABILITIES))
    person = replace(tokens.authenticate(tokens.mint(shell(), space=name, agent="voter")["token"]), agent=None)
    texts = Synthetic(GRAINS).texts()
    for _ in range(0, GRAINS, 100):
        store.store_batch(person, items=[{"content": next(texts)} for _ in range(100)])
    active_encoder.load_encoder()
    worker.drain()
    return person


def main() -> None:
    os.environ["FLUX_ENCODER"] = "wordllama"  # the second to ask must not gain from what was encoded for the first
    prepare()
    people = {name: somebody(name) for name in ("short", "long")}
    ours, theirs = written(people["short"].space)
    print(f"{CONDUITS} conduits: {ours:.2f} ÷ {theirs:.2f} ms", file=sys.stderr, flush=True)
    lived(people["short"], Synthetic(GRAINS, seed=11), SHORT)
    lived(people["long"], Synthetic(GRAINS, seed=11), LONG)
    found = probed(people, Synthetic(GRAINS, seed=12))
    rows = [
        {
            "what": f"writing what votes did to {CONDUITS} conduits ÷ bulk_update",
            "ratio": ours / theirs,
            "goal": "≤ 0.1",
            "measured": f"{ours:.2f} ÷ {theirs:.2f} ms CPU",
        },
        *(
            {
                "what": f"{what}, {LONG:,} judged recalls behind it ÷ {SHORT:,}",
                "ratio": found["long"][what] / found["short"][what],
                "goal": "≤ 1.2",
                "measured": f"{found['long'][what]:.2f} ÷ {found['short'][what]:.2f} ms CPU",
            }
            for what in found["long"]
        ),
    ]
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
