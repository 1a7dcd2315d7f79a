"""Somebody who writes grains and conduits as the store does, rows and event in one commit."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from django.db.models import Q

from fluxcore import events
from fluxcore.events import Position
from fluxcore.writes import booth, write_locks
from memory.arena import log_reader
from memory.arena.changes import Changes, conduit_array
from memory.engine.index import dense
from memory.engine.text import words
from memory.grains.models import Conduit, Entry, Grain, Vector

ENCODER, DIMENSION = "test-64", 64
MOMENT = datetime(2026, 11, 16, 12, tzinfo=UTC)


class GraphWriter:
    def __init__(self, space: int) -> None:
        self.space = space
        self.count = 0

    def settle(self) -> None:
        """PostgreSQL: until other tests' transactions end, an arena keeps its place before what was written here."""
        until = time.monotonic() + 30
        while not all(told.settled for told in log_reader.read_changes(self.space, Position(), 10_000)):
            assert time.monotonic() < until, "somebody's transaction does not end"
            time.sleep(0.01)

    def store(self, text: str, *, entries: Sequence[str] = (), vector: bool = True, **given: Any) -> Grain:
        """A grain, its vector and its links from entries."""

        def work() -> Grain:
            grain = self.grain(text, **given)
            if vector:
                self.vector(grain)
            made = [self.conduit(grain, entry=name) for name in entries]
            self.tell(grains=[grain.pk], conduits=made)
            return grain

        return booth.write(work, lock=write_locks.lock_name(self.space))

    def link(self, start: Grain, end: Grain, weight: float = 0.5, relation: int = 0) -> Conduit:
        def work() -> Conduit:
            made = self.conduit(end, start=start, weight=weight, relation=relation)
            self.tell(conduits=[made])
            return made

        return booth.write(work, lock=write_locks.lock_name(self.space))

    def change(self, grain: Grain, **values: Any) -> None:
        def work() -> None:
            Grain.objects.filter(pk=grain.pk).update(**values)
            self.tell(grains=[grain.pk])

        booth.write(work, lock=write_locks.lock_name(self.space))

    def weigh(self, conduit: Conduit, weight: float) -> None:
        def work() -> None:
            conduit.weight = weight
            conduit.save()
            self.tell(conduits=[conduit])

        booth.write(work, lock=write_locks.lock_name(self.space))

    def cut(self, conduit: Conduit) -> None:
        def work() -> None:
            number = conduit.pk
            conduit.delete()
            self.tell(cut=[number])

        booth.write(work, lock=write_locks.lock_name(self.space))

    def purge(self, grain: Grain) -> None:
        def work() -> None:
            gone = list(Conduit.objects.filter(Q(to_grain=grain) | Q(from_grain=grain)).values_list("pk", flat=True))
            Conduit.objects.filter(pk__in=gone).delete()
            Vector.objects.filter(grain=grain).delete()
            number = grain.pk
            grain.delete()
            self.tell(grains=[number], cut=gone)

        booth.write(work, lock=write_locks.lock_name(self.space))

    # Inside a write

    def grain(self, text: str, **given: Any) -> Grain:
        self.count += 1
        fields = {"origin": "ai_stated", "writer": "test", "recorded_at": MOMENT, "ordinal": self.count, **given}
        return Grain.objects.create(
            space_id=self.space, text=text, digest=hashlib.sha256(text.encode()).hexdigest(), **fields
        )

    def vector(self, grain: Grain, encoder: str = ENCODER) -> None:
        data, scale = dense.quantise(unit_vector(grain.text)[None, :])
        Vector.objects.create(
            space_id=self.space,
            grain=grain,
            encoder=encoder,
            dimension=DIMENSION,
            scale=float(scale[0]),
            data=data[0].tobytes(),
        )

    def conduit(
        self,
        end: Grain,
        *,
        start: Grain | None = None,
        entry: str | None = None,
        weight: float = 0.5,
        relation: int = 0,
    ) -> Conduit:
        found = None
        if entry is not None:
            found, _ = Entry.objects.get_or_create(space_id=self.space, kind="name", feature=entry)
        return Conduit.objects.create(
            space_id=self.space,
            from_entry=found,
            from_grain=start,
            to_grain=end,
            weight=weight,
            relation=relation,
            made_at=1_700_000_000,
            used_at=1_700_000_000,
        )

    def tell(self, *, grains: Sequence[int] = (), conduits: Sequence[Conduit] = (), cut: Sequence[int] = ()) -> None:
        packed = Changes(tuple(grains), packed_conduits(conduits), tuple(cut)).pack()
        events.append("grain.test", space=self.space, actor="test", subject="test", packed=packed)


def packed_conduits(made: Sequence[Conduit]) -> np.ndarray:
    return conduit_array(
        (
            one.pk,
            one.from_entry_id or 0,
            words.key(f"{one.from_entry.kind}:{one.from_entry.feature}") if one.from_entry else 0,
            one.from_grain_id or 0,
            one.to_grain_id,
            one.weight,
            one.affinity,
            one.made_at,
            one.used_at,
            one.relation,
            one.decay_class,
        )
        for one in made
    )


def unit_vector(text: str) -> np.ndarray:
    """A unit vector that only depends on the text."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    found = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    return found / np.linalg.norm(found)
