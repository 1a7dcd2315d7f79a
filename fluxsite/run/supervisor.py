"""Supervisor of an instance: starts the servers and the worker, waits until they answer, and ends them together."""

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
STOP_SECONDS = 3.5  # children that run longer are killed; Ctrl-C promises an end within 5 s
KILLED_SECONDS = 10.0  # time for a killed child to end
AGAIN_SECONDS = 1.0  # a signal this long after the first is a second request, not an echo of it
LOOK_SECONDS = 0.1  # between two checks of the children and of `stop_requested`


@dataclass(frozen=True)
class ListenAddress:
    """Host and port to listen on. Port 0 becomes a free one when it is reserved."""

    what: str
    host: str
    port: int
    key: str  # the config.yaml key that moves it


@dataclass
class ReservedPort:
    """A reserved port of a server: bound, so that no other process gets it while the server starts."""

    endpoint: ListenAddress
    hold: socket.socket

    @property
    def port(self) -> int:
        return int(self.hold.getsockname()[1])

    @property
    def address(self) -> str:
        host = "127.0.0.1" if self.endpoint.host in ("0.0.0.0", "::") else self.endpoint.host  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def reserve(endpoint: ListenAddress) -> ReservedPort:
    endpoint = replace(endpoint, host=_address(endpoint))
    family = socket.AF_INET6 if ":" in endpoint.host else socket.AF_INET
    # First without SO_REUSEPORT: with it, a port another server shares would look free.
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((endpoint.host, endpoint.port))
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise Conflict(
                f"{endpoint.what}: port {endpoint.port} on {endpoint.host} cannot be used ({reason}). "
                f"Stop what uses it, or set {endpoint.key} in config.yaml (0 picks a free one).",
                port=endpoint.port,
            ) from None
    hold = socket.socket(family, socket.SOCK_STREAM)
    hold.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "SO_REUSEPORT"):
        hold.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    hold.bind((endpoint.host, endpoint.port))
    return ReservedPort(endpoint, hold)


def _address(endpoint: ListenAddress) -> str:
    """Numeric address of the host, as the servers require; `localhost` becomes 127.0.0.1."""
    try:
        found = socket.getaddrinfo(endpoint.host, None, type=socket.SOCK_STREAM)
    except OSError:
        key = endpoint.key.replace("_PORT", "_HOST")
        raise Conflict(
            f"{endpoint.what}: {endpoint.host!r} is not an address of this machine. Set {key} in config.yaml."
        ) from None
    # IPv4 first, as clients try it first for a host name.
    return str(min(found, key=lambda info: info[0] != socket.AF_INET)[4][0])


@dataclass
class Supervisor:
    home: DataHome
    rest: ReservedPort
    people: ReservedPort
    mcp: ReservedPort
    processes: int = 1
    children: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    # A plain attribute and no threading.Event: in a signal handler `set` could wait forever for the lock of the `wait`
    # that it interrupts.
    stop_requested: bool = False
    _stop_requested_at: float = 0.0

    def start(self) -> None:
        metrics = self.home.run / "metrics"
        shutil.rmtree(metrics, ignore_errors=True)  # counters of ended processes
        metrics.mkdir(parents=True, mode=0o700)
        environment = {
            **os.environ,
            "FLUX_NAME": self.home.name,
            "FLUX_HOME": str(self.home.path.parent),
            "FLUX_LEASH": str(os.getpid()),
            "PROMETHEUS_MULTIPROC_DIR": str(metrics),
        }
        commands = {
            "rest": ["rest", self.rest.endpoint.host, str(self.rest.port), str(self.processes)],
            "people": [
                "people",
                self.people.endpoint.host,
                str(self.people.port),
                self.mcp.endpoint.host,
                str(self.mcp.port),
            ],
            "worker": ["worker"],
        }
        root = str(Path(__file__).resolve().parent.parent.parent)
        for name, arguments in commands.items():
            self.children[name] = subprocess.Popen(
                [sys.executable, "-m", "fluxsite.serve", *arguments],
                env=environment,
                cwd=root,
                stdin=subprocess.DEVNULL,
                stdout=2,  # standard output is only for the line that scripts read; Celery would print to it
                # An own process group: Ctrl-C reaches only the supervisor, which then ends the children in order.
                start_new_session=True,
            )

    def wait_until_ready(self) -> None:
        until = time.monotonic() + READY_SECONDS
        waiting = [(self.rest, "/readyz"), (self.people, "/health"), (self.mcp, "/health")]
        while waiting and not self.stop_requested:
            self._raise_if_dead()
            waiting = [(server, path) for server, path in waiting if self.stop_requested or not _answers(server, path)]
            if not waiting:
                return
            if time.monotonic() > until:
                what = ", ".join(server.endpoint.what for server, _ in waiting)
                raise StorageUnavailable(f"{what} did not answer within {READY_SECONDS:.0f} s. See {self.home.log}.")
            time.sleep(0.05)

    def _raise_if_dead(self) -> None:
        name = self.dead()
        if name is not None:
            code = self.children[name].returncode
            raise StorageUnavailable(f"The {name} process ended with status {code}. See {self.home.log}.")

    def dead(self) -> str | None:
        """Name of a child that has ended by itself; None if all run."""
        return next((name for name, child in self.children.items() if child.poll() is not None), None)

    def state(self) -> dict[str, Any]:
        """State for scripts: addresses, ports, pids."""
        return {
            "name": self.home.name,
            "pid": os.getpid(),
            "born": running_state.process_start_time(os.getpid()),
            "ports": {"rest": self.rest.port, "people": self.people.port, "mcp": self.mcp.port},
            "urls": {"rest": self.rest.address, "people": self.people.address, "mcp": self.mcp.address},
            "pids": {name: child.pid for name, child in self.children.items()},
        }

    def watch(self) -> str | None:
        """Wait for a signal or the end of a child; returns the child's name."""
        while not self.stop_requested:
            name = self.dead()
            if name is not None:
                return name
            time.sleep(LOOK_SECONDS)
        return None

    def request_stop(self, *_: object) -> None:
        """Handler of SIGINT and SIGTERM: `watch` and `wait_until_ready` return at their next check.

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
        """End all children: SIGTERM, then SIGKILL for those that do not end in time."""
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
    """Kill a child and the processes it started, which are in its process group."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    except (ProcessLookupError, PermissionError):
        pass


def _answers(reserved: ReservedPort, path: str) -> bool:
    host = "127.0.0.1" if reserved.endpoint.host == "0.0.0.0" else reserved.endpoint.host  # noqa: S104
    line = http.client.HTTPConnection(host, reserved.port, timeout=2)
    try:
        line.request("GET", path, headers={"Host": f"localhost:{reserved.port}"})
        return line.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        line.close()
