"""Cache of the arenas of this process: opened on first use, updated before each use, least recently used first out."""

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
# Spaces of more grains without files are built in the background; meanwhile recall works without an arena.
AT_ONCE = 20_000
# Arenas of more rows are stored on disk too: reading so many texts would delay the first recall of a process.
ON_DISK = 2_000
ASK_AGAIN_SECONDS = 600.0  # between two requests to write the files of an arena
LOOK_AGAIN_SECONDS = 60.0  # between two checks whether a space fits into memory
# Lower bound of the bytes of a grain: a space with more grains than the memory budget allows is not opened.
LEAST_BYTES = 300
_MEGABYTE = 1 << 20


class ArenaCache:
    """LRU cache of arenas, limited by ARENA_MEMORY_MB."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._arenas: OrderedDict[int, Arena] = OrderedDict()
        self._lock = threading.Lock()  # guards the dictionaries; never held during a read of files or database
        self._opening: dict[int, threading.Lock] = {}
        self._builders: dict[int, threading.Thread] = {}
        self._too_large: dict[int, float] = {}  # monotonic time at which a space was found to be too large

    @contextmanager
    def arena(self, space: int) -> Iterator[tuple[Arena | None, str]]:
        """The arena of a space with all commits up to now, and its rung; (None, "cold") while there is none.

        The arena is locked for reading inside the block, so the block should be short.
        """
        for _ in range(3):
            arena = self._get_or_open(space)
            if arena is None:
                yield None, COLD
                return
            current = arena.lock.mine or coherence.catch_up(arena)
            if arena.overgrown and not arena.lock.mine:
                arena = self._renew_base(arena)
            with arena.lock.reading():
                if arena.sound:
                    yield arena, WARM if current else BEHIND
                    return
            self.drop(space, arena)
        yield None, COLD

    def drop(self, space: int, arena: Arena | None = None) -> None:
        """Remove the arena of a space from the cache. Its present readers continue."""
        with self._lock:
            if arena is None or self._arenas.get(space) is arena:
                self._arenas.pop(space, None)
        if arena is not None and not arena.sound:
            files.remove_generations(space)  # the files may be the reason

    def nbytes(self) -> int:
        with self._lock:
            arenas = list(self._arenas.values())
        return sum(arena.nbytes for arena in arenas)

    def spaces(self) -> list[int]:
        """Ids of the cached spaces, least recently used first."""
        with self._lock:
            return list(self._arenas)

    def _get_or_open(self, space: int) -> Arena | None:
        encoder = encoder_name()
        arena = self._get(space, encoder)
        if arena is not None:
            return arena
        with self._lock:
            opening = self._opening.setdefault(space, threading.Lock())
        with opening:
            return self._get(space, encoder) or self._open(space, encoder)

    def _get(self, space: int, encoder: str) -> Arena | None:
        with self._lock:
            arena = self._arenas.get(space)
            # Without an encoder any arena will do: its vectors are not used.
            if arena is None or (encoder and arena.encoder != encoder):
                return None
            self._arenas.move_to_end(space)
            return arena

    def _open(self, space: int, encoder: str) -> Arena | None:
        builder = self._builders.get(space)
        if builder is not None and builder.is_alive():
            return None
        if self._cannot_fit(space):
            return None
        arena = files.open_newest(space, encoder)
        if arena is None and queries.has_more_than(space, AT_ONCE):
            thread = threading.Thread(
                target=self._build_in_background, args=[space, encoder], name=f"arena-{space}", daemon=True
            )
            self._builders[space] = thread
            thread.start()
            return None
        if arena is None:
            arena = build_arena(space, encoder)
            self._request_files(arena)
        self._add(arena)
        return arena

    def _cannot_fit(self, space: int) -> bool:
        if time.monotonic() - self._too_large.get(space, -LOOK_AGAIN_SECONDS) < LOOK_AGAIN_SECONDS:
            return True
        too_large = queries.has_more_than(space, config.current().ARENA_MEMORY_MB * _MEGABYTE // LEAST_BYTES)
        if too_large:
            self._too_large[space] = time.monotonic()
        return too_large

    def _build_in_background(self, space: int, encoder: str) -> None:
        try:
            arena = build_arena(space, encoder)
            self._add(arena)
            self._request_files(arena)
        except Exception as error:
            log.warning("the arena of space %d could not be built: %s", space, error_place(error))
        finally:
            connection.close()

    def _add(self, arena: Arena) -> None:
        budget = config.current().ARENA_MEMORY_MB * _MEGABYTE
        with self._lock:
            self._arenas[arena.space] = arena
            self._arenas.move_to_end(arena.space)
            used = sum(cached.nbytes for cached in self._arenas.values())
            # The newest arena stays even if it alone exceeds the budget: it would only be built again.
            while used > budget and len(self._arenas) > 1:
                _, oldest = self._arenas.popitem(last=False)
                used -= oldest.nbytes

    def _renew_base(self, arena: Arena) -> Arena:
        """Renew the base of an arena with a large delta: a small arena at once, a large one on disk by the worker."""
        if arena.index.size <= AT_ONCE:
            with arena.following:
                if arena.overgrown and arena.sound:
                    arena.fold()
                    self._request_files(arena)
            return arena
        newest = files.newest_generation(arena.space)
        if newest > arena.generation:
            newer = files.open_newest(arena.space, arena.encoder)
            if newer is not None:
                self._add(newer)
                return newer
            arena.generation = newest  # so that it is not tried at every recall
        self._request_files(arena)
        return arena

    def _request_files(self, arena: Arena) -> None:
        if arena.index.size > ON_DISK and time.monotonic() - arena.asked_at > ASK_AGAIN_SECONDS:
            arena.asked_at = time.monotonic()
            jobs.ask_soon(arena.space)

    def write(self, space: int) -> int:
        """Write a new base to disk and return its generation; takes seconds for a large space: only for the worker."""
        with self._lock:
            opening = self._opening.setdefault(space, threading.Lock())
        encoder = encoder_name()
        with opening:
            arena = self._get(space, encoder) or files.open_newest(space, encoder) or build_arena(space, encoder)
        coherence.catch_up(arena)
        gone = bool(np.any(arena.index.column("status") == GONE))
        if not arena.sound or arena.behind or gone:
            # Rows of purged grains must not be written to a file; only a new build removes them.
            arena = build_arena(space, encoder)
        generation = files.write_generation(arena)
        self._add(files.open_newest(space, encoder) or arena)
        return generation


def encoder_name() -> str:
    """Name of the encoder whose vectors arenas use; "" without one."""
    encoder = active_encoder.load_encoder() if active_encoder.ready() else None
    name = encoder.name if encoder is not None else active_encoder.state().name
    return "" if name == encoder_kinds.NONE else name


_current: ArenaCache | None = None
_creating = threading.Lock()


def arena_cache() -> ArenaCache:
    """The cache of this process; a forked process starts with an empty one."""
    global _current
    if _current is None or _current.pid != os.getpid():
        with _creating:
            if _current is None or _current.pid != os.getpid():
                _current = ArenaCache()
    return _current
