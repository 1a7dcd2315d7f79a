"""Erasure of purged grains: from all tables, full text, files, and from stored questions that quote them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Model, Q
from django.db.models.fields.reverse_related import ManyToOneRel

from accounts.models import Space
from fluxcore import clock, events
from fluxcore.writes import booth, idempotency
from memory.arena import files
from memory.arena.changes import Changes, conduit_array
from memory.engine.text import words
from memory.grains import full_text, usage
from memory.grains.lifecycle import jobs, quoted_queries, removals
from memory.grains.models import (
    Cluster,
    Conduit,
    Entry,
    Grain,
    JudgedQuestion,
    Member,
    Tombstone,
    Trace,
    TraceGrain,
    Vote,
)
from memory.learning import apply, ranker_weights

_PIECE = 200  # SQLite takes 500 questions in one statement


def erase(space: int, grains: Sequence[Grain], *, actor: str) -> list[Tombstone]:
    """Erase grains, inside a write. Effects of votes on them are undone first: nothing learned from them stays."""
    numbers, moment = [row.pk for row in grains], clock.now()
    alone = _said_nowhere_else(space, grains)
    touching = Conduit.objects.filter(space=space).filter(
        Q(to_grain__in=numbers) | Q(from_entry=None, from_grain__in=numbers)
    )
    links = list(touching.values_list("id", "from_entry_id", "from_grain_id", "to_grain_id"))
    votes = list(Vote.objects.filter(space=space, grain__in=numbers).values_list("id", "grain_id", "judged_id"))
    changed, cut = apply.unlearn_votes(space, [vote for vote, _, _ in votes]) if votes else ([], [])
    regions = list(Member.objects.filter(space=space, grain__in=numbers).values_list("cluster_id", flat=True))
    left = [
        Tombstone(
            uuid=row.uuid,
            space_id=space,
            origin=row.origin,
            recorded_at=row.recorded_at,
            purged_at=moment,
            actor=actor,
            links=sum(row.pk in link[2:] for link in links),
            votes=sum(grain == row.pk for _, grain, _ in votes),
        )
        for row in grains
    ]
    full_text.remove_terms(numbers)
    unjudged = _unjudged(space, numbers)
    _forget(Grain, space, numbers)
    removals.delete_stale_removals(space, [row.digest for row in grains])
    owners = f"{Space.objects.get(pk=space).uuid.hex}/"
    for grain in grains:
        idempotency.redact(owners, str(grain.uuid))
    usage.subtract_usage(space, grains)
    _excuse(space, unjudged)
    entries = _orphans(space, {entry for _, entry, _, _ in links if entry is not None})
    questions = sorted({judged for _, _, judged in votes})
    _forget(JudgedQuestion, space, _without_votes(questions))
    questions = [*questions, *quoted_queries.withhold_quotes(space, alone, entries)]
    _rename(space, regions, alone)
    Tombstone.objects.bulk_create(left)
    gone = {link[0] for link in links}
    kept = [row for row in changed if row[0] not in gone]
    for row in left:
        events.append("grain.purged", space=space, actor=actor, subject=str(row.uuid), data={"links": row.links})
    packed = Changes(
        tuple(numbers), conduit_array(kept), tuple(sorted({*gone, *cut})), tuple(sorted(set(questions)))
    ).pack()
    events.append("grains.purged", space=space, actor=actor, subject="", data={"grains": len(left)}, packed=packed)
    jobs.scrub()
    if votes:
        ranker_weights.request_fitting(space, at_once=True)  # the space's own weights were fitted to these votes too
    booth.outbox().after_commit(lambda: files.remove_generations(space))
    return left


def _unjudged(space: int, grains: Sequence[int]) -> list[int]:
    """Traces of the last day that returned one of these grains and have no feedback yet."""
    held = TraceGrain.objects.filter(space=space, grain__in=grains).values("trace")
    return list(Trace.objects.filter(space=space, rated=False, pk__in=held).values_list("pk", flat=True))


def _excuse(space: int, traces: Sequence[int]) -> None:
    """Mark traces as rated if all their grains were purged: no feedback can be required for them."""
    for at in range(0, len(traces), _PIECE):
        piece = traces[at : at + _PIECE]
        left = TraceGrain.objects.filter(space=space, trace__in=piece).values_list("trace_id", flat=True)
        Trace.objects.filter(pk__in=set(piece) - set(left)).update(rated=True)


def _forget(model: type[Model], space: int, numbers: Sequence[int]) -> None:
    """Delete rows and, before them, all rows of any table that refer to them."""
    if not numbers:
        return
    for relation in model._meta.get_fields(include_hidden=True):
        if isinstance(relation, ManyToOneRel):
            child: Any = relation.related_model
            found = child._base_manager.filter(space=space, **{f"{relation.field.name}__in": numbers})
            _forget(child, space, list(found.values_list("pk", flat=True)))
    rows: Any = model._base_manager.filter(pk__in=numbers)
    rows._raw_delete(rows.db)


def _said_nowhere_else(space: int, grains: Sequence[Grain]) -> frozenset[str]:
    """Terms that occur in these grains and in no other of the space."""
    terms = sorted({term for row in grains for term in (*words.terms(row.text), *words.terms(row.speaker))})
    numbers, elsewhere = {row.pk for row in grains}, set()
    for at in range(0, len(terms), _PIECE):
        piece = terms[at : at + _PIECE]
        for place, grain in full_text.match_terms(space, [words.key(term) for term in piece], len(numbers) + 1):
            if grain not in numbers:
                elsewhere.add(piece[place])
    return frozenset(set(terms) - elsewhere)


def _orphans(space: int, entries: set[int]) -> frozenset[str]:
    """Delete entries without conduits; returns their names."""
    still = set(Conduit.objects.filter(space=space, from_entry__in=entries).values_list("from_entry_id", flat=True))
    gone = Entry.objects.filter(space=space, id__in=entries - still)
    names = frozenset(f"{kind}:{feature}" for kind, feature in gone.values_list("kind", "feature"))
    _forget(Entry, space, list(gone.values_list("id", flat=True)))
    return names


def _without_votes(questions: Sequence[int]) -> list[int]:
    still = set(Vote.objects.filter(judged__in=questions).values_list("judged_id", flat=True))
    return [one for one in questions if one not in still]


def _rename(space: int, regions: Sequence[int], alone: frozenset[str]) -> None:
    """Remove terms that only these grains had from the names of clusters."""
    for row in Cluster.objects.filter(space=space, id__in=regions):
        terms = [one for one in row.terms if not alone & set(words.terms(str(one)))]
        if terms != row.terms or alone & set(words.terms(row.name)):
            Cluster.objects.filter(pk=row.pk).update(name=", ".join(map(str, terms))[:200], terms=terms)
