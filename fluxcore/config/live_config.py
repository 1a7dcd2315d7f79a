"""Live configuration of a running process: hot keys follow config.yaml, the others keep their values from the start."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from fluxcore.config.all_keys import FIELDS, Config
from fluxcore.config.parsing import ConfigError, check_value, not_used_yet, read_file


class Live:
    """Configuration object of a process that reads config.yaml again when it has changed."""

    def __init__(self, path: Path, started_with: Config) -> None:
        self._path = path
        self._start = started_with
        self.seen = self._followed = started_with  # `seen` has the overrides of `hold`, `_followed` does not
        # Not the file's real stamp: it may have changed since the process read it, so the first check reads it again.
        self._stamp: tuple[int, int] | None = (0, 0) if self._read_stamp() else None
        self.next_look = 0.0
        self._lock = threading.Lock()
        self.problem: str | None = None
        self.waiting_for_restart: list[str] = []
        self._file_warnings: tuple[str, ...] = ()
        self._held: dict[str, Any] = {}
        self._unused: list[str] = []  # keys a program sets that are not used yet

    def hold(self, own: Config) -> None:
        """Override keys with those a program sets that opens an instance itself; the rest follow the file.

        A key that an earlier call overrode and this one does not has the value of the file again.
        """
        changed = [name for name, item in FIELDS.items() if getattr(own, name) != item.default]
        held = {name: check_value(name, getattr(own, name), "Config") for name in changed}
        freed = {name: getattr(self._followed, name) for name in self._held}
        self._unused = [name for name in held if FIELDS[name].metadata["comes_with"]]
        self._held, self.seen = held, replace(self.seen, **(freed | held))

    def warnings(self) -> list[str]:
        """Warnings about keys that are set and have no effect, each with what to do."""
        self()  # read the file anew if it has changed
        return [*self._file_warnings, *map(not_used_yet, self._unused)]

    def _read_stamp(self) -> tuple[int, int] | None:
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size

    def __call__(self) -> Config:
        with self._lock:
            if time.monotonic() >= self.next_look:
                stamp = self._read_stamp()
                if stamp != self._stamp:
                    self._stamp = stamp
                    self._reload()
                # Set last, so that other threads wait for the file to be read instead of using the old values.
                self.next_look = time.monotonic() + 1.0
        return self.seen

    def _reload(self) -> None:
        try:
            if self._stamp is None:
                raise ConfigError(f"{self._path}: the file is missing; its last values are still used. Restore it.")
            found = read_file(self._path)
        except ConfigError as error:
            # A running server keeps its last good values; flux_status shows the problem.
            self.problem = str(error)
            return
        self.problem, self._file_warnings, wanted = None, found.warnings, found.config
        merged = {name: getattr(wanted if item.metadata["hot"] else self._start, name) for name, item in FIELDS.items()}
        self._followed, self.seen = Config(**merged), Config(**(merged | self._held))
        self.waiting_for_restart = [name for name in FIELDS if getattr(wanted, name) != merged[name]]


_live: Live | None = None


def current() -> Config:
    """The configuration of this process's instance, hot keys up to date."""
    shared = _live or live()
    return shared.seen if time.monotonic() < shared.next_look else shared()


def live() -> Live:
    """The one `Live` of this process."""
    global _live
    if _live is None:
        from django.conf import settings

        _live = Live(settings.HOME.config, settings.FLUX)
    return _live
