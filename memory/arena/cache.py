"""The arenas of this process: opened on first use, kept current, dropped when memory runs short."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from django.db import connection

from fluxcore import config
from fluxcore.db_errors import error_place
from memory.arena import coherence, files, jobs, queries
from memory.arena.arena import Arena
from memory.arena.build import build_arena
from memory.embedding import active_encoder, encoder_kinds
from memory.engine.index.space_index import GONE

log = logging.getLogger(__name__)

WARM, BEHIND, COLD = "warm", "behind", "cold"
# Larger spaces without files are read in the background: meanwhile recall goes without an arena.
AT_ONCE = 20_000
# From here on an arena is kept on disk too: reading so many texts again would hold up the first recall of a process.
ON_DISK = 2_000
ASK_AGAIN_SECONDS = 600.0
LOOK_AGAIN_SECONDS = 60.0
# Fewer bytes than any grain takes: a space with more grains than the budget has room for need not be tried.
LEAST_BYTES = 300
_MEGABYTE = 1 << 20


class ArenaCache:
    """An LRU of arenas under ARENA_MEMORY_MB."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._arenas: OrderedDict[int, Arena] = OrderedDict()
        self._lock = threading.Lock()  # guards the above and those below, never held while anything is read
        self._opening: dict[int, threading.Lock] = {}
        self._builders: dict[int, threading.Thread] = {}
        self._too_large: dict[int, float] = {}  # when a space was found to be, in monotonic seconds

    @contextmanager
    def arena(self, space: int) -> Iterator[tuple[Arena | None, str]]:
        """A space's arena with all commits up to now in it, and the rung; (None, "cold") while there is none.

        Nothing changes it inside the block, so the block should be short.
        """
        for _ in range(3):
            arena = self._find(space)
            if arena is None:
                yield None, COLD
                return
            current = arena.gate.mine or coherence.catch_up(arena)
            if arena.overgrown and not arena.gate.mine:
                arena = self._tended(arena)
            with arena.gate.reading():
                if arena.sound:
                    yield arena, WARM if current else BEHIND
                    return
            self.drop(space, arena)
        yield None, COLD

    def drop(self, space: int, arena: Arena | None = None) -> None:
        """Forget a space's arena. Whoever reads it now goes on."""
        with self._lock:
            if arena is None or self._arenas.get(space) is arena:
                self._arenas.pop(space, None)
        if arena is not None and not arena.sound:
            files.remove_generations(space)  # they may be the reason

    def nbytes(self) -> int:
        with self._lock:
            held = list(self._arenas.values())
        return sum(arena.nbytes for arena in held)

    def spaces(self) -> list[int]:
        """Whose arenas are here, least recently used first."""
        with self._lock:
            return list(self._arenas)

    def _find(self, space: int) -> Arena | None:
        encoder = encoder_name()
        found = self._held(space, encoder)
        if found is not None:
            return found
        with self._lock:
            opening = self._opening.setdefault(space, threading.Lock())
        with opening:
            return self._held(space, encoder) or self._open(space, encoder)

    def _held(self, space: int, encoder: str) -> Arena | None:
        with self._lock:
            found = self._arenas.get(space)
            # Without an encoder any will do: its vectors are not asked.
            if found is None or (encoder and found.encoder != encoder):
                return None
            self._arenas.move_to_end(space)
            return found

    def _open(self, space: int, encoder: str) -> Arena | None:
        builder = self._builders.get(space)
        if builder is not None and builder.is_alive():
            return None
        if self._cannot_fit(space):
            return None
        found = files.open_newest(space, encoder)
        if found is None and queries.has_more_than(space, AT_ONCE):
            thread = threading.Thread(
                target=self._build_aside, args=[space, encoder], name=f"arena-{space}", daemon=True
            )
            self._builders[space] = thread
            thread.start()
            return None
        if found is None:
            found = build_arena(space, encoder)
            self._ask_for_files(found)
        self._keep(found)
        return found

    def _cannot_fit(self, space: int) -> bool:
        if time.monotonic() - self._too_large.get(space, -LOOK_AGAIN_SECONDS) < LOOK_AGAIN_SECONDS:
            return True
        too_large = queries.has_more_than(space, config.current().ARENA_MEMORY_MB * _MEGABYTE // LEAST_BYTES)
        if too_large:
            self._too_large[space] = time.monotonic()
        return too_large

    def _build_aside(self, space: int, encoder: str) -> None:
        try:
            found = build_arena(space, encoder)
            self._keep(found)
            self._ask_for_files(found)
        except Exception as error:
            log.warning("the arena of space %d could not be built: %s", space, error_place(error))
        finally:
            connection.close()

    def _keep(self, arena: Arena) -> None:
        budget = config.current().ARENA_MEMORY_MB * _MEGABYTE
        with self._lock:
            self._arenas[arena.space] = arena
            self._arenas.move_to_end(arena.space)
            used = sum(one.nbytes for one in self._arenas.values())
            # The newest stays even if it is too large alone: dropping it would only have it built again.
            while used > budget and len(self._arenas) > 1:
                _, oldest = self._arenas.popitem(last=False)
                used -= oldest.nbytes

    def _tended(self, arena: Arena) -> Arena:
        """See to an arena that has outgrown its base: a small one at once, a large one on disk by the worker."""
        if arena.index.size <= AT_ONCE:
            with arena.following:
                if arena.overgrown and arena.sound:
                    arena.fold()
                    self._ask_for_files(arena)
            return arena
        newest = files.newest_generation(arena.space)
        if newest > arena.generation:
            newer = files.open_newest(arena.space, arena.encoder)
            if newer is not None:
                self._keep(newer)
                return newer
            arena.generation = newest  # not to be tried at every recall
        self._ask_for_files(arena)
        return arena

    def _ask_for_files(self, arena: Arena) -> None:
        if arena.index.size > ON_DISK and time.monotonic() - arena.asked_at > ASK_AGAIN_SECONDS:
            arena.asked_at = time.monotonic()
            jobs.ask_soon(arena.space)

    def write(self, space: int) -> int:
        """Put a new base on disk; its generation. Seconds of work on a large space, for the worker."""
        with self._lock:
            opening = self._opening.setdefault(space, threading.Lock())
        encoder = encoder_name()
        with opening:
            arena = self._held(space, encoder) or files.open_newest(space, encoder) or build_arena(space, encoder)
        coherence.catch_up(arena)
        gone = bool(np.any(arena.index.column("status") == GONE))
        if not arena.sound or arena.behind or gone:
            # What was purged is not written to a file again; its row is only let go by reading everything anew.
            arena = build_arena(space, encoder)
        generation = files.write_generation(arena)
        self._keep(files.open_newest(space, encoder) or arena)
        return generation


def encoder_name() -> str:
    """Whose vectors arenas hold; "" without an encoder."""
    encoder = active_encoder.load_encoder() if active_encoder.ready() else None
    name = encoder.name if encoder is not None else active_encoder.state().name
    return "" if name == encoder_kinds.NONE else name


_current: ArenaCache | None = None
_making = threading.Lock()


def arena_cache() -> ArenaCache:
    """The shelf of this process; a forked one begins with an empty one."""
    global _current
    if _current is None or _current.pid != os.getpid():
        with _making:
            if _current is None or _current.pid != os.getpid():
                _current = ArenaCache()
    return _current
