"""Client methods for recall and for the trace that explains it."""

from __future__ import annotations

from collections.abc import Sequence

from flux.answers import Retrieved, Trace
from flux.core import CallArguments, call


def _as_list(values: Sequence[str] | None) -> list[str] | None:
    return None if values is None else list(values)


class RecallCalls:
    @call("POST", "retrieve", kind="recall")
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
        kinds: Sequence[str] | None = None,
        explain: bool | None = None,
    ) -> CallArguments[Retrieved]:
        """Recall grains that answer a question, best first. Rate them with `feedback` and the answer's `trace_id`."""
        return CallArguments(
            {
                "query": query,
                "k": k,
                "min_score": min_score,
                "as_of": as_of,
                "tags": _as_list(tags),
                "sessions": _as_list(sessions),
                "since": since,
                "until": until,
                "origin_floor": origin_floor,
                "statuses": _as_list(statuses),
                "kinds": _as_list(kinds),
                "explain": explain,
            }
        )

    @call("GET", "traces/{trace}")
    def get_trace(self, trace: str) -> CallArguments[Trace]:
        """Read a trace: the explanation of a recall."""
        return CallArguments(path={"trace": trace})
