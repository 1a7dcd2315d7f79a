"""Derived grains: statements the model found, stored with at most the authority of their source and linked to it.

A grain's authority is the lowest of its lineage: of the source, of the token that handed the source over, and of
`ai_inferred`, since a model put it into words. Nothing the model says can change that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from accounts import origins
from accounts.capabilities import parsed
from accounts.principals import Principal
from accounts.verbs import RunningCall
from fluxcore import clock, config, events
from fluxcore.errors import FluxError
from memory.arena.changes import Changes, conduit_array
from memory.extraction.model_answer import Statement
from memory.extraction.models import DerivedGrain
from memory.grains import grain_input, linking, store
from memory.grains.grain_input import GrainInput
from memory.grains.models import Grain, Relation

VERB = "grains.derive"
# Statuses that are not changed when the model finds the same statement again.
HELD = (Grain.Status.QUARANTINED, Grain.Status.PENDING_DELETION)


def lowest_origin(source: Grain, ceiling: int) -> str:
    """The lowest of `ai_inferred`, the origin of the source, and the ceiling of the token that submitted it."""
    return origins.lowest("ai_inferred", source.origin, source.authority, ceiling)


def prepare_items(source: Grain, ceiling: int, found: Sequence[Statement]) -> list[tuple[GrainInput, Statement]]:
    """Validate statements before the write. They have no session: the source keeps its place there."""
    context = {
        "speaker": source.speaker or None,
        "time": clock.rfc3339(source.said_at),
        "tags": source.tags or None,
        "valid_from": clock.rfc3339(source.valid_from),
        "valid_to": clock.rfc3339(source.valid_to),
    }
    prepared = []
    for one in found:
        try:
            item = grain_input.check_grain_input({"content": one.text, **context}, ceiling="external_source")
        except FluxError:
            continue  # not storable: the limit of this instance may be lower than the model's
        prepared.append((replace(item, origin=lowest_origin(source, ceiling)), one))
    return prepared


def store_statements(source: Grain, found: Sequence[tuple[GrainInput, Statement]], model: str) -> int:
    """Store statements linked to their source, inside a write; returns the number of its derived grains."""
    space = source.space_id
    digests = [item.digest for item, _ in found]
    held = set(Grain.objects.filter(space=space, digest__in=digests, status__in=HELD).values_list("digest", flat=True))
    kept = [(item, one) for item, one in found if item.digest not in held]
    if not kept:
        return 0
    call = RunningCall(_model(source, model), VERB, reason=f"from {source.uuid}")
    answers = store.insert(call, [item for item, _ in kept])
    ids = [answer["grain_id"] for answer in answers]
    numbers = {str(key): number for key, number in Grain.objects.filter(uuid__in=ids).values_list("uuid", "pk")}
    weight, now = config.current().INITIAL_WEIGHT_SCALE, clock.now()
    links = [
        linking.NewConduit(source.pk, Relation.CAUSED_BY, weight, grain=numbers[one]) for one in dict.fromkeys(ids)
    ]
    conduits = [row for row in linking.insert_conduits(space, links, int(now.timestamp())) if row]
    DerivedGrain.objects.bulk_create(
        [
            DerivedGrain(
                space_id=space,
                source=source,
                grain_id=numbers[key],
                begins=one.begins,
                ends=one.ends,
                model=model[:120],
                at=now,
            )
            for key, (_, one) in zip(ids, kept, strict=True)
        ],
        ignore_conflicts=True,
    )
    events.append(
        "grain.extracted",
        space=space,
        actor=call.principal.actor,
        subject=str(source.uuid),
        data={"grains": len(links)},
        packed=Changes((), conduit_array(conduits)).pack(),
    )
    return len(links)


def _model(source: Grain, model: str) -> Principal:
    """Principal of the model for audit chain and log. It has no capabilities: it acts only on submitted texts."""
    return Principal(
        kind="model",
        name=model[:64],
        space=source.space_id,
        chain=source.space.uuid.hex,
        capabilities=parsed(()),
        ceiling="ai_inferred",
    )
