"""Removals: decisions of people that a text must not be recalled, whichever grain has it.

A person who deletes or quarantines a grain decides about its text in that space, for every grain whose authority is not
higher: existing ones get the same status, and later ones are stored with it. Undoing it ends the decision and restores
the grains that only followed it. A purge deletes the decision with the text, so that no digest of it is left.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from accounts.principals import Principal
from fluxcore import clock, events, raw_sql, uptime
from memory.arena.changes import Changes
from memory.grains.lifecycle import revive, transitions
from memory.grains.lifecycle.rules import ACTIVE, ARCHIVED, CLASSES, DORMANT, PENDING, QUARANTINED, SAME_TEXT
from memory.grains.lifecycle.transitions import PlannedTransition
from memory.grains.models import Grain, Removal, Transition

REMOVED = (QUARANTINED, PENDING)
PEOPLE = ("user:", "shell:")  # prefixes of the actors of decisions
_FOLLOW = {QUARANTINED: (ACTIVE, DORMANT, ARCHIVED), PENDING: (ACTIVE, DORMANT, ARCHIVED, QUARANTINED)}
_AT_ONCE = 500


@dataclass(frozen=True)
class StoredAgain:
    """A removed text that was stored again: the decision, and its grain if it is new or its status changed."""

    removal: int
    grain: int | None
    before: str


def is_person(principal: Principal) -> bool:
    return principal.actor.startswith(PEOPLE)


def explain_removed(status: str, *, by_person: bool) -> str:
    """Sentence for the caller of a store: why the stored text is not recalled."""
    state = status.replace("_", " ")
    if not by_person:
        return f"This memory is {state} in this space. It is not recalled until somebody releases it."
    way = "undo the deletion" if status == PENDING else "release it"
    return (
        f"A person {'deleted' if status == PENDING else 'quarantined'} this memory in this space. What was stored is "
        f"{state} too and is not recalled. A person can {way}; a store with a higher provenance is recalled."
    )


def record_decision(row: Grain, after: str, *, actor: str) -> int:
    """Record a person's decision about a grain; returns how many other grains of its text changed with it."""
    if after not in REMOVED:
        Removal.objects.filter(space=row.space_id, digest=row.digest).delete()
        return _returned(row, actor)
    at, seconds = clock.now(), uptime.now().seconds
    earlier = Removal.objects.filter(space=row.space_id, digest=row.digest).first()
    authority = min(row.authority, earlier.authority) if earlier else row.authority
    Removal.objects.update_or_create(
        space_id=row.space_id,
        digest=row.digest,
        defaults={"status": after, "authority": authority, "actor": actor, "at": at, "lived": seconds},
    )
    others = list(_others(row).filter(authority__gte=authority))
    following, last = (
        _following(row),
        transitions.last_transitions(row.space_id, [one.pk for one in others], of_class=False),
    )
    steps = [
        PlannedTransition(one.pk, one.uuid, one.status, after, SAME_TEXT)
        for one in others
        if one.status in _FOLLOW[after]
        or (one.status != after and one.pk in following)
        # A rule could release a grain that a rule quarantined: from now on it is the person's decision.
        or (one.status == after and one.pk in last and last[one.pk].actor == transitions.WORKER)
    ]
    return _move(row.space_id, steps, actor=actor)


def keeps_removed(row: Grain) -> bool:
    """Whether a person's decision covers this grain, whoever gave it its status."""
    found = Removal.objects.filter(space=row.space_id, digest=row.digest, authority__lte=row.authority)
    return found.exists()


def record_stored_again(space: int, repeats: Sequence[StoredAgain], *, by: str) -> None:
    """Record that removed texts were stored again, inside that write: in their history, and on the decision."""
    known = {row.pk: row for row in Removal.objects.filter(space=space, pk__in={one.removal for one in repeats})}
    raw_sql.insert(
        Transition,
        transitions.COLUMNS,
        [
            (
                space,
                one.grain,
                one.before,
                decision.status,
                SAME_TEXT,
                {},
                decision.actor,
                "",
                decision.at,
                decision.lived,
            )
            for one in repeats
            if one.grain is not None and (decision := known[one.removal])
        ],
    )
    now = clock.now()
    for removal, times in Counter(one.removal for one in repeats).items():
        row = known[removal]
        row.repeats, row.repeated_at, row.repeated_by = row.repeats + times, now, by
        row.save(update_fields=["repeats", "repeated_at", "repeated_by"])


def delete_stale_removals(space: int, digests: Iterable[str]) -> None:
    """Delete decisions about texts that no removed grain has any more, after a purge."""
    wanted = set(digests)
    still = Grain.objects.filter(space=space, digest__in=wanted, status__in=REMOVED).values_list("digest", flat=True)
    Removal.objects.filter(space=space, digest__in=wanted - set(still)).delete()


def _others(row: Grain) -> QuerySet[Grain]:
    return Grain.objects.filter(space=row.space_id, digest=row.digest).exclude(pk=row.pk).order_by("pk")


def _following(row: Grain) -> Mapping[int, str]:
    """Grains of the text that have their status only because of a decision, with their earlier status."""
    started: dict[int, str] = {}
    steps = Transition.objects.filter(space=row.space_id, grain__in=_others(row).values("pk")).order_by("id")
    for grain, status, after, why in steps.values_list("grain_id", "before", "after", "why"):
        if after in CLASSES:
            continue
        if why == SAME_TEXT and after in REMOVED:
            started.setdefault(grain, status)
        else:
            started.pop(grain, None)
    return started


def _returned(row: Grain, actor: str) -> int:
    following = _following(row)
    found = [one for one in _others(row).filter(status__in=REMOVED) if one.pk in following]
    steps = [PlannedTransition(one.pk, one.uuid, one.status, following[one.pk], SAME_TEXT) for one in found]
    moved = _move(row.space_id, steps, actor=actor)
    revive.relink_grains(row.space_id, [one for one in found if following[one.pk] == ACTIVE])
    return moved


def _move(space: int, steps: Sequence[PlannedTransition], *, actor: str) -> int:
    """Change all these grains with a few statements: a frequent phrase may have thousands of grains."""
    if not steps:
        return 0
    by_status: dict[str, list[int]] = defaultdict(list)
    for step in steps:
        by_status[step.after].append(step.grain)
    for after, numbers in by_status.items():
        for at in range(0, len(numbers), _AT_ONCE):
            Grain.objects.filter(space=space, pk__in=numbers[at : at + _AT_ONCE]).update(status=after)
    transitions.record_transitions(space, steps, actor=actor)
    events.append(
        "grains.followed",
        space=space,
        actor=actor,
        subject="",
        data={"grains": len(steps)},
        packed=Changes(tuple(step.grain for step in steps)).pack(),
    )
    return len(steps)
