"""Celery's messages as files, for an instance without Redis.

kombu has such a transport, but its files can be read while they are being written, which ends the reader and with it
the worker. Here messages appear atomically, and the process that renames one has it.
"""

from __future__ import annotations

import json
import logging
import os
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, virtual

from fluxcore import clock, files

log = logging.getLogger(__name__)

SCHEME = "flux-files"
CONTROL = "celery.pidbox"  # ending of the exchanges of `celery inspect` and of its answers
# Resolution of time stamps: within it a folder may change again and keep its time stamp.
SETTLED_NANOSECONDS = 100_000_000
OLD_SECONDS = 3600.0


class Channel(virtual.Channel):
    do_restore = False  # the sweep replaces a message that a killed worker had taken
    supports_fanout = True  # requests of `celery inspect` go to every worker

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        options: dict[str, Any] = self.connection.client.transport_options  # type: ignore[union-attr, assignment]
        self.folder = Path(options["folder"])
        self._path = os.fspath(self.folder)
        self._empty: tuple[int, int] | None = (
            None  # the folder's time stamp and number of queues at which all queues were empty
        )

    def _poll(self, cycle: Any, callback: Any, timeout: float | None = None) -> Any:
        """Read the next message, if the folder has changed: workers poll five times a second."""
        try:
            seen = os.stat(self._path).st_mtime_ns, len(self._active_queues)  # noqa: PTH116  a Path is ten times slower
        except OSError:
            seen = None
        if seen is not None and seen == self._empty:
            raise Empty
        try:
            return super()._poll(cycle, callback, timeout=timeout)
        except Empty:
            if seen is not None and abs(clock.nanoseconds() - seen[0]) > SETTLED_NANOSECONDS:
                self._empty = seen
            raise

    def _put(self, queue: str, message: dict[str, Any], **kwargs: Any) -> None:
        name = f"{clock.nanoseconds():020d}-{uuid.uuid4().hex}.{queue}"
        # The sweep finds the job rows of messages that a power failure loses, so the disk is not waited for.
        files.replace_file(self.folder / name, json.dumps(message), durable=False)

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        for path in self._waiting(queue):
            taken = path.with_name(f".taken-{path.name}")
            try:
                path.rename(taken)
                raw = taken.read_bytes()
                taken.unlink()
            except OSError:
                continue  # another worker has taken it, or it is another file
            message = _loaded_from(raw)
            if isinstance(message, dict):
                return message
            # Incomplete after a full disk or a power loss. The sweep finds its job row.
            log.warning("a message that could not be read was dropped")
        raise Empty

    def _waiting(self, queue: str) -> list[Path]:
        try:
            found = list(self.folder.iterdir())
        except FileNotFoundError:
            # The folder was deleted. An error here would end the worker.
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return []
        return sorted(path for path in found if path.name.endswith(f".{queue}") and not path.name.startswith("."))

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str | None, queue: str) -> None:
        """Store the binding of a queue of `celery inspect` in the folder. Other queues are addressed by name."""
        if exchange.endswith(CONTROL):
            bound = self.folder / f".bound-{exchange}-{queue}"
            files.replace_file(bound, json.dumps([routing_key, pattern, queue]), durable=False)

    def get_table(self, exchange: str) -> list[Any]:
        if not exchange.endswith(CONTROL):
            return list(super().get_table(exchange))
        found = [_loaded(path) for path in self.folder.glob(f".bound-{exchange}-*")]
        return [tuple(bound) for bound in found if isinstance(bound, list)]

    def _put_fanout(self, exchange: str, message: dict[str, Any], routing_key: str, **kwargs: Any) -> None:
        for _, _, queue in self.get_table(exchange):
            self._put(queue, message)

    def _delete(self, queue: str, exchange: str, *given: Any, **named: Any) -> None:
        super()._delete(queue, exchange, *given, **named)
        (self.folder / f".bound-{exchange}-{queue}").unlink(missing_ok=True)

    def _size(self, queue: str) -> int:
        return len(self._waiting(queue))

    def _purge(self, queue: str) -> int:
        found = self._waiting(queue)
        for path in found:
            path.unlink(missing_ok=True)
        return len(found)


class Transport(virtual.Transport):
    implements = virtual.Transport.implements.extend(asynchronous=False, exchange_type=frozenset(["direct", "fanout"]))
    Channel = Channel
    default_port = 0
    driver_type = driver_name = SCHEME
    _bindings = virtual.BrokerState()

    def __init__(self, client: Any, **kwargs: Any) -> None:
        super().__init__(client, **kwargs)
        self.state = self._bindings  # shared in the process, since new connections do not declare their queues again

    def driver_version(self) -> str:
        return "1"


def drop_old(folder: Path) -> None:
    """Delete messages of earlier workers. They have expired, and the sweep finds their job rows.

    Bindings of workers stay, however old: through them `celery inspect` finds a worker that has run for long. A worker
    has the same name at each start, so their number does not grow.
    """
    oldest_kept = clock.seconds() - OLD_SECONDS
    for path in folder.iterdir():
        if path.name.startswith(f".bound-{CONTROL}-"):
            continue
        try:
            if path.is_file() and path.stat().st_mtime < oldest_kept:
                path.unlink()
        except FileNotFoundError:
            continue  # another worker was first


def _loaded(path: Path) -> Any:
    try:
        return _loaded_from(path.read_bytes())
    except OSError:
        return None


def _loaded_from(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"
