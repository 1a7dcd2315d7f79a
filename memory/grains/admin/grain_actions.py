"""Admin actions on the lifecycle of a memory (archive, restore, quarantine, delete, purge) and its history table."""

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
from memory.grains.lifecycle.rules import ACTIVE, ARCHIVED, DORMANT, PENDING, QUARANTINED, reason_text
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
        says="It is recalled only after active memories, and becomes active again when it is used.",
    ),
    Action(
        "restore",
        "Restore",
        _MANAGE,
        _run(verbs.restore),
        done="Restored. It is active again.",
        fits=_in(DORMANT, ARCHIVED),
        says="It is recalled like any active memory again, and its links are rebuilt.",
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
        says="It can be recalled again, and so can memories that were quarantined because they have the same text.",
    ),
    Action(
        "promote",
        "Promote",
        _MANAGE,
        _run(verbs.promote),
        done="Promoted to core.",
        fits=lambda row: row.decay_class != DecayClass.CORE,
        says="Makes it a core memory: its links decay slowest.",
    ),
    Action(
        "demote",
        "Demote",
        _MANAGE,
        _run(verbs.demote),
        done="Demoted to a working memory.",
        fits=lambda row: row.decay_class == DecayClass.CORE,
        says="Makes it a working memory: its links decay at the normal rate.",
    ),
    Action(
        "delete",
        "Delete",
        _MANAGE,
        _run(verbs.delete),
        done="Marked for deletion.",
        dangerous=True,
        fits=_in(ACTIVE, DORMANT, ARCHIVED, QUARANTINED),
        says="Excluded from recall, and purged after the undo period (a day by default). Other memories with the "
        "same text and no higher provenance are deleted too, also those stored until then.",
    ),
    Action(
        "undelete",
        "Undo deletion",
        _MANAGE,
        _run(verbs.undelete),
        done="Deletion undone.",
        fits=_in(PENDING),
        says="Restores its earlier status, and that of memories deleted because they have the same text.",
    ),
    Action(
        "purge",
        "Purge",
        "purge",
        _run(purge),
        done="Purged.",
        dangerous=True,
        says="Permanently removes its text, words, vectors, links and feedback, and hides questions that quote it. "
        "Only its id and the date are kept. This cannot be undone.",
    ),
)


def badge(name: str) -> Any:
    return formatting.badge(name.replace("_", " "), MOODS.get(name, "plain"))


def history_rows(found: list[grain_history.HistoryStep]) -> list[tuple[Any, ...]]:
    """Rows of the History table on the page of a memory."""
    return [
        (
            formatting.relative_time(one.at),
            badge(one.before),
            badge(one.after),
            one.reason or reason_text(one.why),
            one.actor,
            grain_history.format_numbers(one.numbers) or formatting.NONE,
        )
        for one in found
    ]
