"""What people do with the life of a grain, and how its history is shown on its page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accounts.adminsite import formatting
from accounts.adminsite.formatting import BadgeStyle
from accounts.adminsite.modeladmin import Action
from accounts.principals import Principal
from accounts.verbs import Verb
from memory.grains.lifecycle import grain_history, verbs
from memory.grains.lifecycle.purge import purge
from memory.grains.lifecycle.rules import ACTIVE, ARCHIVED, DORMANT, PENDING, QUARANTINED
from memory.grains.models import DecayClass, Grain

MOODS: dict[str, BadgeStyle] = {
    "active": "good",
    "core": "good",
    "quarantined": "bad",
    "pending_deletion": "warn",
}


def _run(verb: Verb) -> Callable[..., None]:
    def run(principal: Principal, row: Grain, **given: Any) -> None:
        verb(principal, grain=str(row.uuid), **given)

    return run


def _in(*statuses: str) -> Callable[[Any], bool]:
    return lambda row: row.status in statuses


_MANAGE = "grains.manage"
GRAIN_ACTIONS = (
    Action(
        "archive",
        "Archive",
        _MANAGE,
        _run(verbs.archive),
        done="Archived.",
        fits=_in(ACTIVE, DORMANT),
        says="It answers only where others leave room, and comes back by use.",
    ),
    Action(
        "restore",
        "Restore",
        _MANAGE,
        _run(verbs.restore),
        done="It is active again.",
        fits=_in(DORMANT, ARCHIVED),
        says="It answers like any other grain again, and what led to it is made anew.",
    ),
    Action(
        "quarantine",
        "Quarantine",
        _MANAGE,
        _run(verbs.quarantine),
        done="Quarantined.",
        dangerous=True,
        fits=_in(ACTIVE, DORMANT, ARCHIVED),
        says="Excluded from recall unless quarantined memories are requested. Other memories with the same text and no "
        "higher provenance are quarantined too, also those stored later.",
    ),
    Action(
        "release",
        "Release",
        _MANAGE,
        _run(verbs.release),
        done="Released.",
        fits=_in(QUARANTINED),
        says="Recalled again, and with it what was quarantined for having the same text.",
    ),
    Action(
        "promote",
        "Promote",
        _MANAGE,
        _run(verbs.promote),
        done="It is core now.",
        fits=lambda row: row.decay_class != DecayClass.CORE,
        says="What leads to it fades slowest from now on.",
    ),
    Action(
        "demote",
        "Demote",
        _MANAGE,
        _run(verbs.demote),
        done="It is a working grain now.",
        fits=lambda row: row.decay_class == DecayClass.CORE,
        says="What leads to it fades as usual again.",
    ),
    Action(
        "delete",
        "Delete",
        _MANAGE,
        _run(verbs.delete),
        done="Marked for deletion.",
        dangerous=True,
        fits=_in(ACTIVE, DORMANT, ARCHIVED, QUARANTINED),
        says="Excluded from recall, and purged when the time to undo it is over (a day by default). Other memories "
        "with the same text and no higher provenance are deleted too, also those stored until then.",
    ),
    Action(
        "undelete",
        "Undo deletion",
        _MANAGE,
        _run(verbs.undelete),
        done="It is where it was before.",
        fits=_in(PENDING),
        says="Restores the status it had, and that of memories deleted for having the same text.",
    ),
    Action(
        "purge",
        "Purge",
        "purge",
        _run(purge),
        done="Purged.",
        dangerous=True,
        says="Removes its text, words, vectors, links and votes for good, and withholds questions that quote it. "
        "Only that there was a grain stays known. This cannot be undone.",
    ),
)


def badge(name: str) -> Any:
    return formatting.badge(name.replace("_", " "), MOODS.get(name, "plain"))


def history_rows(found: list[grain_history.HistoryStep]) -> list[tuple[Any, ...]]:
    """The history of one grain, for its page."""
    return [
        (
            formatting.relative_time(one.at),
            badge(one.before),
            badge(one.after),
            one.reason or one.why,
            one.actor,
            grain_history.format_numbers(one.numbers) or formatting.NONE,
        )
        for one in found
    ]
