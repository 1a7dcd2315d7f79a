"""flux_feedback and flux_pending_feedback: votes on recalled grains, and recalls without votes."""

from __future__ import annotations

from typing import Any

from accounts.principals import Principal
from fluxcore.errors import Invalid
from mcp_bridge import schemas
from mcp_bridge.registry import Tool
from mcp_bridge.schemas import gives, identifier, many, moment, number, one_of, record, text, whole, yes_or_no
from mcp_bridge.tools.grains.fields import ERROR, KEY, REASON, pick_given, write_options
from memory.learning import vote_input

_VOTE = {
    "trace_id": identifier("trace_id of the answer of flux_retrieve."),
    "grain_id": identifier("A grain in that answer."),
    "useful": yes_or_no("Whether the grain helped."),
    "strength": number("Weight of the vote. Default 1.", low=vote_input.LEAST_STRENGTH, high=vote_input.MOST_STRENGTH),
    "missed": many(identifier(), "Grains that should have been in the answer.", most=vote_input.MAX_MISSED),
}
_RECORDED = {
    "trace_id": identifier(),
    "grain_id": identifier(),
    "useful": yes_or_no(),
    "strength": number(),
    "missed": many(identifier()),
    "status": one_of(("recorded", "refused")),
    "changed": yes_or_no("False: the same vote was recorded before."),
    "ok": yes_or_no(),
    "action": one_of(("reinforced", "penalized")),
    "effective_signal": number("Effect of the vote; below 0 it lowers the grain's rank."),
}


def _feedback(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
    from memory.learning import feedback

    more = write_options(given)
    if given.get("items") is None:
        return _vote_answer(feedback.feedback(principal, **pick_given(given, *vote_input.FIELDS), **more))
    if any(given.get(name) is not None for name in vote_input.FIELDS):
        raise Invalid("Give one vote, or several as items, not both.", field="items")
    answer = feedback.feedback_batch(principal, items=given["items"], **more)
    return {**answer, "results": [_vote_answer(result) for result in answer["results"]]}


def _vote_answer(vote: dict[str, Any]) -> dict[str, Any]:
    """The answer to a vote without empty fields, and without `signal`, a second name of `effective_signal`."""
    return {name: value for name, value in vote.items() if value is not None and value != [] and name != "signal"}


FEEDBACK = Tool(
    "flux_feedback",
    "Rate what was recalled",
    "Rate which grains of an answer helped and which misled, or report what was missing from it; several votes at once "
    "with items. Call it after you used an answer of flux_retrieve: the memory learns from it.",
    _feedback,
    takes={
        **_VOTE,
        "items": many(
            record(("trace_id",), **schemas.bare(_VOTE)), "Several votes instead of one.", most=vote_input.MAX_ITEMS
        ),
        "reason": REASON,
        "idempotency_key": KEY,
    },
    gives=gives(
        (),
        **_RECORDED,
        count=whole(),
        refused=whole(),
        results=many(record(("index", "status"), index=whole(), **_RECORDED, error=ERROR)),
    ),
    needs=("grains.feedback",),
    one_by_one=("items",),
    repeats=True,
)


def _pending(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
    from memory.recall import pending_feedback

    return pending_feedback.list_pending(principal)


PENDING = Tool(
    "flux_pending_feedback",
    "Recalls without feedback",
    "Your own recalls of the last day that you have not rated yet, newest first. Rate them with flux_feedback.",
    _pending,
    gives=gives(
        ("pending", "more"),
        more=yes_or_no("True: there are older ones."),
        pending=many(
            record(
                ("trace_id", "query", "asked_at", "grain_ids"),
                trace_id=identifier(),
                query=text(),
                asked_at=moment(),
                grain_ids=many(identifier()),
            )
        ),
    ),
    needs=("grains.feedback",),
    reads=True,
    repeats=True,
)
