"""Ledger of votes: lists of votes, weights and shortcuts with their callers, and undoing votes by filter."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet

from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, selector, verb
from fluxcore import clock
from fluxcore.errors import Invalid, NotFound
from memory.engine.ranking.fitted_weights import WEIGHTS
from memory.grains.models import Conduit, SpaceRankerWeights, UsefulPair, Vote, VoteEffect
from memory.learning import credit, jobs
from memory.learning.vote_input import parse_uuid

MOST = 500
UNDONE_AT_ONCE = 5_000


@selector("grains.learned", needs="grains.manage")
def list_votes(principal: Principal, *, limit: int = 50, **bounds: Any) -> dict[str, Any]:
    """Votes, newest first, with caller, grain and question."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
        raise Invalid(f"limit must be from 1 to {MOST}.", field="limit")
    found = _bounded(principal, standing=False, **bounds).select_related("judged", "grain", "space").order_by("-id")
    shown = list(found[: limit + 1])
    return {"votes": [_shape(row) for row in shown[:limit]], "more": len(shown) > limit}


@selector("grains.own_weights", needs="grains.manage")
def list_weights(principal: Principal) -> list[dict[str, Any]]:
    """Spaces with ranker weights of their own: changed weights, and the gain on held-out questions."""
    found = SpaceRankerWeights.objects.select_related("space").order_by("space__name")
    if principal.space is not None:
        found = found.filter(space=principal.space)
    return [
        {
            "space": row.space.name,
            "questions": row.questions,
            "ndcg_before": round(row.before, 4),
            "ndcg_after": round(row.after, 4),
            "in_use": row.version == WEIGHTS["version"],
            "at": clock.rfc3339(row.at),
            "steps": dict(sorted(row.weights.items(), key=lambda one: (-abs(one[1]), one[0]))),
        }
        for row in found
    ]


@selector("grains.shortcuts", needs="grains.manage")
def list_shortcuts(principal: Principal, *, limit: int = 50) -> list[dict[str, Any]]:
    """Shortcuts between grains that were often useful together, newest first."""
    found = UsefulPair.objects.filter(conduit__isnull=False)
    if principal.space is not None:
        found = found.filter(space=principal.space)
    return _shortcuts(found.order_by("-id")[:limit])


@selector("grains.explain_vote", needs="grains.manage")
def explain_vote(principal: Principal, *, trace: str, grain: str) -> dict[str, Any]:
    """Effect of one vote on each link, and the shortcuts it counts for."""
    row = (
        _bounded(principal, standing=False, trace=trace, grain=grain).select_related("judged", "grain", "space").first()
    )
    if row is None:
        raise NotFound("There is no such feedback.")
    effects = VoteEffect.objects.filter(space=row.space_id, vote=row.pk).select_related("conduit__from_entry")
    return {
        **_shape(row),
        "scale": round(row.scale, 4),
        "links": [
            {
                "conduit": one.conduit_id,
                "from_entry": one.conduit.from_entry.feature if one.conduit.from_entry else None,
                "from_grain": one.conduit.from_grain_id,
                "weight_without_votes": round(_base(one.conduit), 4),
                "weight": round(one.conduit.weight, 4),
                "part": round((one.gain - one.loss) / credit.UNIT, 4),
            }
            for one in effects.order_by("conduit_id")
        ],
        "shortcuts": _shortcuts(_counted_for(row).order_by("-id")),
    }


def _counted_for(vote: Vote) -> QuerySet[UsefulPair]:
    """Shortcuts between the grain of this vote and others that were useful for its question."""
    if not vote.useful or vote.undone_at is not None:
        return UsefulPair.objects.none()
    beside = Vote.objects.filter(judged=vote.judged_id, useful=True, undone_at=None).exclude(pk=vote.pk)
    others = list(beside.values_list("grain_id", flat=True))
    return UsefulPair.objects.filter(space=vote.space_id, conduit__isnull=False).filter(
        Q(one=vote.grain_id, other__in=others) | Q(other=vote.grain_id, one__in=others)
    )


def _shortcuts(pairs: QuerySet[UsefulPair]) -> list[dict[str, Any]]:
    found = list(pairs.select_related("space", "one", "other"))
    weight = dict(Conduit.objects.filter(id__in=[one.conduit for one in found]).values_list("id", "weight"))
    return [
        {
            "conduit": one.conduit,
            "space": one.space.name,
            "grain_ids": [str(one.one.uuid), str(one.other.uuid)],
            "contents": [one.one.text, one.other.text],
            "together": one.count,
            "weight": round(weight[one.conduit], 4),
        }
        for one in found
        if one.conduit in weight  # the conduit may have been removed by clean-up
    ]


@verb("grains.unlearn", needs="grains.manage")
def undo_votes(call: RunningCall, **bounds: Any) -> Change:
    """Undo all votes that match the filters: trace, grain, caller, time. At least one filter is required."""
    if not any(value is not None for value in bounds.values()):
        raise Invalid("Which feedback is missing: give a trace, a grain, a caller or a time.", field="caller")
    found = _bounded(call.principal, standing=True, **bounds)

    def change() -> dict[str, Any]:
        numbers = list(found.order_by("id").values_list("id", "space_id")[: UNDONE_AT_ONCE + 1])
        now = numbers[:UNDONE_AT_ONCE]
        Vote.objects.filter(id__in=[number for number, _ in now]).update(
            undone_at=clock.now(), undone_by=call.principal.actor, applied=False
        )
        given_bounds = {name: str(value) for name, value in bounds.items() if value is not None}
        call.record("", votes=len(now), **given_bounds)
        for space in sorted({space for _, space in now}):
            jobs.ask_for_learning(space)
        if now:
            call.event("votes.undone", "", {"votes": len(now), **given_bounds})
        return {"undone": len(now), "more": len(numbers) > UNDONE_AT_ONCE}

    return change


def _bounded(
    principal: Principal,
    *,
    standing: bool,
    trace: Any = None,
    grain: Any = None,
    caller: Any = None,
    since: Any = None,
    until: Any = None,
) -> QuerySet[Any]:
    found: QuerySet[Any] = Vote.objects.all()
    if principal.space is not None:
        found = found.filter(space=principal.space)
    if standing:
        found = found.filter(undone_at=None)
    if trace is not None:
        found = found.filter(judged__uuid=parse_uuid(trace, "trace"))
    if grain is not None:
        found = found.filter(grain__uuid=parse_uuid(grain, "grain"))
    if caller is not None:
        if not isinstance(caller, str) or not caller or "\0" in caller or len(caller) > 160:
            raise Invalid("caller must be who gave the feedback, for example agent:helper.", field="caller")
        found = found.filter(judged__actor=caller)
    if since is not None:
        found = found.filter(at__gte=clock.parse(since, name="since"))
    if until is not None:
        found = found.filter(at__lt=clock.parse(until, name="until"))
    return found


def _base(conduit: Any) -> float:
    return float(conduit.weight if conduit.base is None else conduit.base)


def _shape(row: Any) -> dict[str, Any]:
    return {
        "trace_id": str(row.judged.uuid),
        "grain_id": str(row.grain.uuid),
        "query": row.judged.query,
        "content": row.grain.text,
        "caller": row.judged.actor,
        "space": row.space.name,
        "useful": row.useful,
        "missed": row.missed,
        "implied": row.implied,
        "strength": row.strength,
        "at": clock.rfc3339(row.at),
        "undone_at": clock.rfc3339(row.undone_at),
        "undone_by": row.undone_by or None,
        "applied": row.applied,
    }
