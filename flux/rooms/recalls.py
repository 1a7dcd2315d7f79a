"""Asking the memory, and asking why it answered so."""

from __future__ import annotations

from collections.abc import Sequence

from flux.answers import Retrieved, Trace
from flux.core import CallArguments, call


def _listed(given: Sequence[str] | None) -> list[str] | None:
    return None if given is None else list(given)


class RecallCalls:
    @call("POST", "retrieve", kind="ask")
    def retrieve(
        self,
        query: str,
        k: int | None = None,
        *,
        min_score: float | None = None,
        as_of: str | None = None,
        tags: Sequence[str] | None = None,
        sessions: Sequence[str] | None = None,
        since: str | None = None,
        until: str | None = None,
        origin_floor: str | None = None,
        statuses: Sequence[str] | None = None,
        explain: bool | None = None,
    ) -> CallArguments[Retrieved]:
        """Recall what answers a question, best first. `trace_id` is its receipt; vote on it with `feedback`."""
        return CallArguments(
            {
                "query": query,
                "k": k,
                "min_score": min_score,
                "as_of": as_of,
                "tags": _listed(tags),
                "sessions": _listed(sessions),
                "since": since,
                "until": until,
                "origin_floor": origin_floor,
                "statuses": _listed(statuses),
                "explain": explain,
            }
        )

    @call("GET", "traces/{trace}")
    def get_trace(self, trace: str) -> CallArguments[Trace]:
        """Why a recall answered as it did."""
        return CallArguments(path={"trace": trace})
