"""Kinds of review items: what each room says about those it opens. A room registers its kinds when it is loaded.

kinds.register("proposal", "memory.artifacts.proposal_kind.ProposalKind")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, ClassVar

from django.db.models import Q
from django.utils.module_loading import import_string

from accounts.authorise import may
from accounts.principals import Principal
from accounts.verbs import RunningCall
from memory.review.models import ReviewItem

Effect = Callable[[ReviewItem], dict[str, Any]]


class ReviewKind:
    """How items of one kind are shown and decided."""

    label: ClassVar[str]  # on pages: "Change of a file"
    outdated: ClassVar[str] = "What it would change is not as it was when this was proposed."
    reads: ClassVar[str]  # operation on the item's target that lets a caller see what is proposed
    decides: ClassVar[str]  # operation on the item's target that lets a caller decide

    def sees(self, principal: Principal, item: ReviewItem) -> bool:
        """Whether a caller sees what is proposed. Authors see that their items exist and how they were decided."""
        return may(principal, self.decides, item.target) or may(principal, self.reads, item.target)

    def describe(self, item: ReviewItem) -> dict[str, Any]:
        """What is proposed, as answers and pages show it. Of an open item `seen` names the state that is shown.

        Pages show of its `change`: `diff`, or `no_diff` with the reason; `changes` of values; the proposed `text`, if
        it can be edited; `changed_since`, if what it would change is another now.
        """
        raise NotImplementedError

    def facts(self, state: str, change: dict[str, Any]) -> list[tuple[str, str]]:
        """What a page tells of a `change` besides: labels with their values."""
        return []

    def watched(self, change: dict[str, Any]) -> dict[str, str]:
        """After which events an open item may show something else: how their `kind` begins, and data that they have."""
        return {}

    def begins(self) -> str:
        """How items of this kind come to be, in a sentence or two. Shown while there are none."""
        return ""

    def accept(self, call: RunningCall, item: ReviewItem, *, seen: str, text: str | None) -> Effect:
        """Prepare the effect of accepting, which runs inside the write and returns details to keep.

        It refuses with a conflict unless the state is the one that was `seen`. With a `text` that is accepted instead.
        """
        raise NotImplementedError

    def deny(self, call: RunningCall, item: ReviewItem) -> Effect:
        """Prepare the effect of denying."""
        raise NotImplementedError


_paths: dict[str, str] = {}


def register(name: str, path: str) -> None:
    """Register a kind by the path of its class, which is imported when it is first needed."""
    _paths[name] = path


def names() -> tuple[str, ...]:
    return tuple(_paths)


@cache
def find(name: str) -> ReviewKind:
    found: ReviewKind = import_string(_paths[name])()
    return found


def all_kinds() -> list[ReviewKind]:
    return [find(name) for name in _paths]


def where(spaces: Callable[[ReviewKind], Iterable[int]]) -> Q:
    """The items of each kind in the spaces that are found for it."""
    found = {name: set(spaces(find(name))) for name in _paths}
    every = set().union(*found.values())
    # Without OR: SQLite fails to plan one over these indexes, with an "internal query planner error".
    wanted = Q(space__in=every, kind__in=[name for name, of_kind in found.items() if of_kind])
    for name, of_kind in found.items():
        if of_kind and of_kind != every:
            wanted &= ~Q(kind=name, space__in=every - of_kind)
    return wanted
