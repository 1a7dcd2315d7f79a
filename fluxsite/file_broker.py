"""Celery's messages as files, for an instance without Redis.

kombu has such a transport, but its files can be read while they are being written: the reader dies, and with it the
worker. Here a message appears whole or not at all, and belongs to the one who renames it.
"""

from __future__ import annotations

import json
import logging
import os
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, virtual

log = logging.getLogger(__name__)

SCHEME = "flux-files"


class Channel(virtual.Channel):
    do_restore = False  # a ring that a dying worker had taken is made up for by the minute

    @property
    def folder(self) -> Path:
        options: dict[str, Any] = self.connection.client.transport_options  # type: ignore[union-attr, assignment]
        return Path(options["folder"])

    def _put(self, queue: str, message: dict[str, Any], **kwargs: Any) -> None:
        name = f"{time.time_ns():020d}-{uuid.uuid4().hex}.{queue}"
        hidden = self.folder / f".{name}"
        descriptor = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(message, file)
            hidden.rename(self.folder / name)
        except OSError:  # a full disk
            hidden.unlink(missing_ok=True)
            raise

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        for path in self._waiting(queue):
            taken = path.with_name(f".taken-{path.name}")
            try:
                path.rename(taken)
                raw = taken.read_bytes()
                taken.unlink()
            except OSError:
                continue  # another worker was first, or it is no file of ours
            try:
                message = json.loads(raw)
            except (ValueError, RecursionError):
                message = None
            if isinstance(message, dict):
                return message
            # Left by a full disk or a power loss. It was a ring, and the next one comes.
            log.warning("a message that could not be read was dropped")
        raise Empty

    def _waiting(self, queue: str) -> list[Path]:
        try:
            found = list(self.folder.iterdir())
        except FileNotFoundError:
            # Somebody tidied up. An error here would end the worker.
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return []
        return sorted(path for path in found if path.name.endswith(f".{queue}") and not path.name.startswith("."))

    def _size(self, queue: str) -> int:
        return len(self._waiting(queue))

    def _purge(self, queue: str) -> int:
        found = self._waiting(queue)
        for path in found:
            path.unlink(missing_ok=True)
        return len(found)


class Transport(virtual.Transport):
    implements = virtual.Transport.implements.extend(asynchronous=False, exchange_type=frozenset(["direct"]))
    Channel = Channel
    default_port = 0
    driver_type = driver_name = SCHEME
    _bindings = virtual.BrokerState()

    def __init__(self, client: Any, **kwargs: Any) -> None:
        super().__init__(client, **kwargs)
        self.state = self._bindings  # of the process: a new connection does not declare its queue again

    def driver_version(self) -> str:
        return "1"


TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"
