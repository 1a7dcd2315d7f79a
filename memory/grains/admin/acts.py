"""What people do with the life of a grain, and how its history is shown on its page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accounts import showing
from accounts.modeladmin import Act
from accounts.principals import Principal
from accounts.showing import Mood
from accounts.verbs import Verb
from memory.grains.lifecycle import story, verbs
from memory.grains.lifecycle.purge import purge
from memory.grains.lifecycle.rules import ACTIVE, ARCHIVED, DORMANT, PENDING, QUARANTINED
from memory.grains.models import DecayClass, Grain

MOODS: dict[str, Mood] = {
    "active": "good", "core": "good", "quarantined": "bad", "pending_deletion": "warn",
}  # fmt: skip


def _run(verb: Verb) -> Callable[..., None]:
    def run(principal: Principal, row: Grain, **given: Any) -> None:
        verb(principal, grain=str(row.uuid), **given)

    return run


def _in(*statuses: str) -> Callable[[Any], bool]:
    return lambda row: row.status in statuses


_MANAGE = "grains.manage"
ACTS = (
    Act("archive", "Archive", _MANAGE, _run(verbs.archive), done="Archived.", fits=_in(ACTIVE, DORMANT),
        says="It answers only where others leave room, and comes back by use."),
    Act("restore", "Restore", _MANAGE, _run(verbs.restore), done="It is active again.", fits=_in(DORMANT, ARCHIVED),
        says="It answers like any other grain again, and what led to it is made anew."),
    Act("quarantine", "Quarantine", _MANAGE, _run(verbs.quarantine), done="Quarantined.", dangerous=True,
        fits=_in(ACTIVE, DORMANT, ARCHIVED),
        says="Excluded from recall unless quarantined memories are requested. Other memories with the same text and no "
        "higher provenance are quarantined too, also those stored later."),
    Act("release", "Release", _MANAGE, _run(verbs.release), done="Released.", fits=_in(QUARANTINED),
        says="Recalled again, and with it what was quarantined for having the same text."),
    Act("promote", "Promote", _MANAGE, _run(verbs.promote), done="It is core now.",
        fits=lambda row: row.decay_class != DecayClass.CORE, says="What leads to it fades slowest from now on."),
    Act("demote", "Demote", _MANAGE, _run(verbs.demote), done="It is a working grain now.",
        fits=lambda row: row.decay_class == DecayClass.CORE, says="What leads to it fades as usual again."),
    Act("delete", "Delete", _MANAGE, _run(verbs.delete), done="Marked for deletion.", dangerous=True,
        fits=_in(ACTIVE, DORMANT, ARCHIVED, QUARANTINED),
        says="Excluded from recall, and purged when the time to undo it is over (a day by default). Other memories "
        "with the same text and no higher provenance are deleted too, also those stored until then."),
    Act("undelete", "Undo deletion", _MANAGE, _run(verbs.undelete), done="It is where it was before.",
        fits=_in(PENDING),
        says="Restores the status it had, and that of memories deleted for having the same text."),
    Act("purge", "Purge", "purge", _run(purge), done="Purged.", dangerous=True,
        says="Removes its text, words, vectors, links and votes for good, and withholds questions that quote it. "
        "Only that there was a grain stays known. This cannot be undone."),
)  # fmt: skip


def badge(name: str) -> Any:
    return showing.badge(name.replace("_", " "), MOODS.get(name, "plain"))


def steps(found: list[story.Told]) -> list[tuple[Any, ...]]:
    """The history of one grain, for its page."""
    return [
        (
            showing.moment(one.at), badge(one.before), badge(one.after), one.reason or one.why, one.actor,
            story.numbers(one.numbers) or showing.NONE,
        )
        for one in found
    ]  # fmt: skip
