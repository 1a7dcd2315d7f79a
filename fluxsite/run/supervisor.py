"""Starts the doors and the worker as children, waits until they answer, and ends them together."""

from __future__ import annotations

import http.client
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fluxcore.errors import Conflict, StorageUnavailable
from fluxsite.home import DataHome
from fluxsite.run import running_state

log = logging.getLogger(__name__)

READY_SECONDS = 60.0
STOP_SECONDS = 3.5  # Ctrl-C promises five, and the last ones are then killed
KILLED_SECONDS = 10.0  # for a killed process to be gone
AGAIN_SECONDS = 1.0  # a signal this long after the first is a second request, not an echo of it
LOOK_SECONDS = 0.1  # between two looks at the children and at `stop_requested`


@dataclass(frozen=True)
class ListenAddress:
    """An address to listen on. Port 0 becomes a free one when it is reserved."""

    what: str
    host: str
    port: int
    key: str  # the config.yaml key that moves it


@dataclass
class ReservedPort:
    """A door whose port is ours: bound, so that nobody else gets it while the server behind it starts."""

    door: ListenAddress
    hold: socket.socket

    @property
    def port(self) -> int:
        return int(self.hold.getsockname()[1])

    @property
    def address(self) -> str:
        host = "127.0.0.1" if self.door.host in ("0.0.0.0", "::") else self.door.host  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def reserve(door: ListenAddress) -> ReservedPort:
    door = replace(door, host=_address(door))
    family = socket.AF_INET6 if ":" in door.host else socket.AF_INET
    # First without SO_REUSEPORT: with it, a port another server shares would look free.
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((door.host, door.port))
        except OSError as error:
            raise Conflict(
                f"{door.what}: port {door.port} on {door.host} cannot be used ({os.strerror(error.errno or 0)}). "
                f"Stop what uses it, or set {door.key} in config.yaml (0 picks a free one).",
                port=door.port,
            ) from None
    hold = socket.socket(family, socket.SOCK_STREAM)
    hold.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "SO_REUSEPORT"):
        hold.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    hold.bind((door.host, door.port))
    return ReservedPort(door, hold)


def _address(door: ListenAddress) -> str:
    """The servers want numbers: `localhost` becomes 127.0.0.1."""
    try:
        found = socket.getaddrinfo(door.host, None, type=socket.SOCK_STREAM)
    except OSError:
        key = door.key.replace("_PORT", "_HOST")
        raise Conflict(
            f"{door.what}: {door.host!r} is not an address of this machine. Set {key} in config.yaml."
        ) from None
    # IPv4 first: that is where clients look for a name without brackets.
    return str(min(found, key=lambda one: one[0] != socket.AF_INET)[4][0])


@dataclass
class Supervisor:
    home: DataHome
    rest: ReservedPort
    people: ReservedPort
    mcp: ReservedPort
    processes: int = 1
    children: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    # A plain attribute: a signal handler that set a threading.Event could wait for ever for the lock of the wait it
    # interrupted.
    stop_requested: bool = False
    _stop_requested_at: float = 0.0

    def start(self) -> None:
        metrics = self.home.run / "metrics"
        shutil.rmtree(metrics, ignore_errors=True)  # counters of processes that are gone
        metrics.mkdir(parents=True, mode=0o700)
        environment = {
            **os.environ,
            "FLUX_NAME": self.home.name,
            "FLUX_HOME": str(self.home.path.parent),
            "FLUX_LEASH": str(os.getpid()),
            "PROMETHEUS_MULTIPROC_DIR": str(metrics),
        }
        commands = {
            "rest": ["rest", self.rest.door.host, str(self.rest.port), str(self.processes)],
            "people": ["people", self.people.door.host, str(self.people.port), self.mcp.door.host, str(self.mcp.port)],
            "worker": ["worker"],
        }
        root = str(Path(__file__).resolve().parent.parent.parent)
        for name, arguments in commands.items():
            self.children[name] = subprocess.Popen(
                [sys.executable, "-m", "fluxsite.serve", *arguments],
                env=environment,
                cwd=root,
                stdin=subprocess.DEVNULL,
                stdout=2,  # ours is for the one line that scripts read; Celery prints to it when it ends
                # A group of its own: Ctrl-C reaches the supervisor alone, which then ends them in order.
                start_new_session=True,
            )

    def wait_until_ready(self) -> None:
        until = time.monotonic() + READY_SECONDS
        waiting = [(self.rest, "/readyz"), (self.people, "/health"), (self.mcp, "/health")]
        while waiting and not self.stop_requested:
            self._raise_if_dead()
            waiting = [(door, path) for door, path in waiting if self.stop_requested or not _answers(door, path)]
            if not waiting:
                return
            if time.monotonic() > until:
                what = ", ".join(door.door.what for door, _ in waiting)
                raise StorageUnavailable(f"{what} did not answer within {READY_SECONDS:.0f} s. See {self.home.log}.")
            time.sleep(0.05)

    def _raise_if_dead(self) -> None:
        name = self.dead()
        if name is not None:
            code = self.children[name].returncode
            raise StorageUnavailable(f"The {name} process ended with status {code}. See {self.home.log}.")

    def dead(self) -> str | None:
        """The name of a child that has ended by itself."""
        return next((name for name, child in self.children.items() if child.poll() is not None), None)

    def state(self) -> dict[str, Any]:
        """What scripts need to know: addresses, ports, pids."""
        return {
            "name": self.home.name,
            "pid": os.getpid(),
            "born": running_state.process_start_time(os.getpid()),
            "ports": {"rest": self.rest.port, "people": self.people.port, "mcp": self.mcp.port},
            "urls": {"rest": self.rest.address, "people": self.people.address, "mcp": self.mcp.address},
            "pids": {name: child.pid for name, child in self.children.items()},
        }

    def watch(self) -> str | None:
        """Wait for a signal or the death of a child; the name of the dead one."""
        while not self.stop_requested:
            name = self.dead()
            if name is not None:
                return name
            time.sleep(LOOK_SECONDS)
        return None

    def request_stop(self, *_: object) -> None:
        """Handler of SIGINT and SIGTERM: `watch` and `wait_until_ready` return at their next look.

        A second signal, after AGAIN_SECONDS, ends everything at once: this process may hang in a call to a database
        that does not answer.
        """
        now = time.monotonic()
        if self.stop_requested and now - self._stop_requested_at > AGAIN_SECONDS:
            for child in self.children.values():
                _kill_group(child)
            os._exit(1)
        if not self.stop_requested:
            self.stop_requested, self._stop_requested_at = True, now

    def stop(self) -> None:
        """SIGTERM to all, then SIGKILL to what does not end in time: no child outlives this call."""
        until = time.monotonic() + STOP_SECONDS
        for child in self.children.values():
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
        for child in self.children.values():
            try:
                child.wait(timeout=max(0.05, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
        for name, child in self.children.items():
            if child.poll() is None:
                log.warning("the %s process did not end within %.1f s and is killed", name, STOP_SECONDS)
            _kill_group(child)
            try:
                child.wait(timeout=KILLED_SECONDS)
            except subprocess.TimeoutExpired:  # in a call of the kernel that no signal ends, such as a flush to a disk
                log.warning("the %s process has not ended %.1f s after it was killed", name, KILLED_SECONDS)
        for reserved in (self.rest, self.people, self.mcp):
            reserved.hold.close()


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """A server's own workers live in its group; none may be left behind."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    except (ProcessLookupError, PermissionError):
        pass


def _answers(reserved: ReservedPort, path: str) -> bool:
    host = "127.0.0.1" if reserved.door.host == "0.0.0.0" else reserved.door.host  # noqa: S104
    line = http.client.HTTPConnection(host, reserved.port, timeout=2)
    try:
        line.request("GET", path, headers={"Host": f"localhost:{reserved.port}"})
        return line.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        line.close()
