"""Watching what changes in exact memory. By hand and not declared in `flux/calls/`: the call waits, and can stream."""

from __future__ import annotations

from flux.answers import Watched
from flux.core import CallArguments, call


class Watching:
    @call("GET", "watch")
    def watch(
        self, place: str, pattern: str | None = None, *, since: str | None = None, wait: int | None = None
    ) -> CallArguments[Watched]:
        """What changed in `agents/NAME` or `boards/NAME` since a position, waiting up to `wait` seconds for it."""
        return CallArguments(query={"place": place, "pattern": pattern, "since": since, "wait": wait})
