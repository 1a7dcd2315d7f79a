"""Feedback on results of a recall: give it, withdraw it, and show which links it changed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from accounts.principals import Principal
from accounts.visitor import current_visitor
from dashboard import page_frame
from dashboard.account import sign_in_required
from dashboard.answer_cards import AnswerCard
from fluxcore.errors import FluxError, Forbidden, NotFound
from memory.grains.models import Vote, VoteEffect
from memory.learning import credit, feedback

_LINKS = 6  # shown of those that one vote changed
_SAID = {"useful": True, "not-useful": False}


@dataclass(frozen=True)
class MovedLink:
    """A link whose weight a vote changed."""

    says: str
    before: str
    now: str


@dataclass(frozen=True)
class OwnVote:
    """The person's feedback on a memory, and the links it changed."""

    useful: bool
    applied: bool
    moved: list[MovedLink] = field(default_factory=list)
    more: int = 0


@sign_in_required
@require_POST
def vote(request: HttpRequest, trace: UUID) -> HttpResponse:
    space = page_frame.current_space(request)
    if space is None:
        raise Http404
    me = current_visitor(request).principal(space.pk)
    grain, rating = request.POST.get("grain", ""), request.POST.get("said", "")
    try:
        if rating in _SAID:
            feedback.feedback(me, trace_id=str(trace), grain_id=grain, useful=_SAID[rating])
            messages.success(request, "Feedback saved. The memory learns from it within moments.")
        else:
            feedback.withdraw(me, trace=str(trace), grain=grain)
            messages.success(request, "Feedback withdrawn. What was learned from it is undone.")
    except NotFound:
        raise Http404 from None
    except Forbidden:
        raise PermissionDenied from None
    except FluxError as refusal:
        messages.error(request, refusal.message)
    return redirect(f"{reverse('trace', args=[trace])}#answer")


def with_votes(
    cards: list[AnswerCard], trace: str, *, may: bool, votes: dict[str, OwnVote] | None = None
) -> list[AnswerCard]:
    """The cards with feedback buttons, where the person may give feedback."""
    if not may:
        return cards
    return [replace(card, trace=trace, vote=(votes or {}).get(card.id)) for card in cards]


def own_votes(me: Principal, trace: UUID) -> dict[str, OwnVote]:
    """The person's own feedback on an answer, by grain."""
    found = list(
        Vote.objects.filter(judged__uuid=trace, judged__actor=me.actor, undone_at=None).values_list(
            "id", "grain__uuid", "useful", "applied"
        )
    )
    moved: dict[int, list[VoteEffect]] = {number: [] for number, *_ in found}
    effects = VoteEffect.objects.filter(vote__in=list(moved)).select_related(
        "conduit__from_entry", "conduit__from_grain"
    )
    for one in effects.order_by("conduit_id"):
        moved[one.vote_id].append(one)
    return {
        str(grain): OwnVote(
            useful, applied, [_moved(one) for one in moved[number][:_LINKS]], len(moved[number]) - _LINKS
        )
        for number, grain, useful, applied in found
    }


def _moved(effect: VoteEffect) -> MovedLink:
    conduit = effect.conduit
    start = f"the entity “{conduit.from_entry.feature}”" if conduit.from_entry else "the previous memory on the path"
    without = credit.credited_weight(
        conduit.weight if conduit.base is None else conduit.base,
        conduit.gain - effect.gain,
        conduit.loss - effect.loss,
        1.0,
    )
    return MovedLink(f"from {start}", f"{without:.3f}", f"{conduit.weight:.3f}")
