"""The store transaction against the same rows written through the ORM, in CPU time per grain."""

from __future__ import annotations

import json
import random
import statistics
import time
import uuid
from collections.abc import Callable
from typing import Any

from benchmarks.home import prepare

ROUNDS, SINGLES, BATCH = 7, 60, 100
NAMES = ("Melanie", "Caroline", "Jon", "Gina", "Maria", "Audrey", "Nate", "Deborah", "Calvin", "Evan")
PLACES = ("Lisbon", "Oslo", "Kyoto", "Boston", "Turin")
WORDS = [
    "garden",
    "painting",
    "marathon",
    "pottery",
    "school",
    "kitchen",
    "bicycle",
    "holiday",
    "museum",
    "concert",
    "guitar",
    "weather",
    "dinner",
    "project",
    "charity",
    "adoption",
    "counselling",
    "hiking",
    "photograph",
    "workshop",
    "dancing",
    "business",
    "recipe",
    "puppy",
    "mountain",
    "library",
]


def turns(seed: int, count: int) -> list[dict[str, Any]]:
    """Turns of a chat, as an agent would store them."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        some = " ".join(chance.sample(WORDS, 8))
        text = f"{chance.choice(NAMES)} told me about {some} in {chance.choice(PLACES)} for {number} euros ({seed})"
        found.append({"content": text, "session": f"chat {number % 4}", "speaker": chance.choice(NAMES)})
    return found


def through_the_orm(principal: Any, item: Any) -> None:
    """What a Django program would do: rows as objects, the links in bulk, one transaction."""
    from django.db import transaction

    from accounts import audit, origins
    from accounts.models import AuditEntry
    from fluxcore import clock
    from fluxcore.canonical_json import dumps
    from fluxcore.models import Event, Job
    from memory.arena.changes import Changes, conduit_array
    from memory.engine.text import words
    from memory.grains import full_text
    from memory.grains.models import Conduit, Entry, Grain, Relation

    moment = clock.now()
    at = int(moment.timestamp())
    with transaction.atomic():
        same = Grain.objects.filter(space=principal.space, digest=item.digest).order_by("id").first()
        tail = Grain.objects.filter(space=principal.space, session=item.session).order_by("-ordinal").first()
        grain = Grain.objects.create(
            uuid=item.grain,
            space_id=principal.space,
            text=item.text,
            digest=item.digest,
            origin=item.origin,
            authority=origins.RANK[item.origin],
            writer=principal.actor,
            session=item.session,
            ordinal=tail.ordinal + 1 if tail else 0,
            speaker=item.speaker,
            tags=list(item.tags),
            recorded_at=moment,
        )
        links = [
            ("entry", Entry.objects.get_or_create(space_id=principal.space, kind=kind, feature=feature)[0])
            for kind, feature in item.mentions
        ]
        new = [
            Conduit(
                space_id=principal.space,
                from_entry=entry,
                to_grain=grain,
                relation=Relation.RELATED,
                weight=0.5,
                made_at=at,
                used_at=at,
            )
            for _, entry in links
        ]
        if tail is not None:
            new.append(
                Conduit(
                    space_id=principal.space,
                    from_grain=tail,
                    to_grain=grain,
                    relation=Relation.NEXT,
                    weight=0.5,
                    made_at=at,
                    used_at=at,
                )
            )
        if same is not None:
            raise RuntimeError("the benchmark's texts differ")
        Conduit.objects.bulk_create(new)
        full_text.index_terms(principal.space, [(grain.pk, item.keys)])
        rows = [
            (
                one.pk,
                one.from_entry_id or 0,
                words.key(f"{one.from_entry.kind}:{one.from_entry.feature}") if one.from_entry_id else 0,
                one.from_grain_id or 0,
                grain.pk,
                0.5,
                1.0,
                at,
                at,
                one.relation,
                0,
            )
            for one in new
        ]
        Event.objects.create(
            space=principal.space,
            kind="grain.stored",
            at=moment,
            actor=principal.actor,
            subject=str(grain.uuid),
            data={"origin": item.origin},
            packed=Changes((grain.pk,), conduit_array(rows)).pack(),
        )
        before = AuditEntry.objects.filter(chain=principal.chain).order_by("-seq").first()
        seq, prev = (before.seq + 1, before.hash) if before else (1, audit.GENESIS)
        details = dumps({"digest": item.digest, "origin": item.origin, "status": "stored"})
        fields = (
            principal.chain,
            seq,
            moment,
            principal.actor,
            "grains.store",
            str(grain.uuid),
            "done",
            "",
            details,
            prev,
        )
        AuditEntry.objects.create(
            **dict(
                zip(
                    ("chain", "seq", "at", "actor", "action", "object", "outcome", "reason", "details", "prev", "hash"),
                    (*fields, audit.hash_of(*fields)),
                    strict=True,
                )
            )
        )
        Job.objects.get_or_create(
            kind="grains.enrich",
            once_key=f"space:{principal.space}",
            state="queued",
            defaults={"uuid": uuid.uuid4(), "space": principal.space, "due_at": moment, "created_at": moment},
        )


def cpu(work: Callable[[], object], grains: int) -> float:
    """CPU seconds per grain."""
    began = time.process_time()
    work()
    return (time.process_time() - began) / grains


def main() -> None:
    prepare()
    from django.conf import settings

    from accounts import agents
    from accounts.models import Space
    from accounts.principals import shell
    from accounts.verbs import RunningCall
    from fluxcore.writes import booth
    from memory.grains import store
    from memory.grains.grain_input import check_grain_input

    settings.BOOTH = "inline"
    spaces = {}
    for name in ("single", "batch", "orm", "whole"):
        agents.create_space(shell(), name=name)
        spaces[name] = shell(Space.objects.get(name=name))

    def transaction(principal: Any, items: list[Any]) -> None:
        booth.write(lambda: store.insert(RunningCall(principal, "grains.store"), items))

    def prepared(seed: int, count: int) -> list[Any]:
        return [check_grain_input(one, ceiling="user_stated") for one in turns(seed, count)]

    rounds: dict[str, list[float]] = {name: [] for name in spaces}
    for number in range(ROUNDS + 1):
        singles, batch, plain = (
            prepared(3 * number + kind, count) for kind, count in enumerate((SINGLES, BATCH, SINGLES))
        )
        given = turns(10_000 + number, SINGLES)
        spent = {
            "single": cpu(lambda: [transaction(spaces["single"], [one]) for one in singles], SINGLES),  # noqa: B023
            "orm": cpu(lambda: [through_the_orm(spaces["orm"], one) for one in plain], SINGLES),  # noqa: B023
            "batch": cpu(lambda: transaction(spaces["batch"], batch), BATCH),  # noqa: B023
            "whole": cpu(lambda: [store.store(spaces["whole"], **one) for one in given], SINGLES),  # noqa: B023
        }
        if number:  # the first warms everything up
            for name, seconds in spent.items():
                rounds[name].append(seconds)

    def row(what: str, name: str, goal: str) -> dict[str, Any]:
        ours, theirs = statistics.median(rounds[name]), statistics.median(rounds["orm"])
        return {
            "what": what,
            "ratio": statistics.median(one / other for one, other in zip(rounds[name], rounds["orm"], strict=True)),
            "goal": goal,
            "measured": f"{ours * 1e6:.0f} ÷ {theirs * 1e6:.0f} µs CPU a grain",
            "rounds": {"ours": rounds[name], "orm": rounds["orm"]},
        }

    print(
        json.dumps(
            [
                row("store transaction ÷ ORM atomic", "single", "≤ 0.4"),
                row(f"store transaction of {BATCH} ÷ ORM atomic, per grain", "batch", "≤ 0.12"),
                row("whole store verb ÷ ORM atomic without analysis", "whole", ""),
            ]
        )
    )


if __name__ == "__main__":
    main()
