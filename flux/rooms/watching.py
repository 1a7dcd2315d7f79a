"""Client method that watches exact memory. Not declared in `flux/calls/`, because the call waits and can stream."""

from __future__ import annotations

from flux.answers import Watched
from flux.core import CallArguments, call


class Watching:
    @call("GET", "watch")
    def watch(
        self, place: str, pattern: str | None = None, *, since: str | None = None, wait: int | None = None
    ) -> CallArguments[Watched]:
        """Changes in `agents/NAME` or `boards/NAME` since a position; waits up to `wait` seconds for one."""
        return CallArguments(query={"place": place, "pattern": pattern, "since": since, "wait": wait})
