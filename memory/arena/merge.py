"""The job `arena.merge`: writes a new generation of a space's arena to disk."""

from __future__ import annotations

from fluxcore.work.run import Run
from memory.arena.cache import arena_cache


def merge(run: Run) -> None:
    """The handler of `arena.merge`. Writes files only, so there is no change to apply to the database."""
    if run.space is not None:
        run.say(f"Generation {arena_cache().write(run.space)} written.")
