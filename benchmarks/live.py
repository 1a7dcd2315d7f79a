"""What a live event costs the server for each client that follows: the process's own time, over real sockets.

`python -m benchmarks.live [CLIENTS]`: without a number 50, each a person of its own, and 100 while nothing happens. The
server is the people's door as it is served, in a process of its own; a person's right is looked up whenever a look at
the log brings something, and events are recalls, the most frequent kind.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any

from benchmarks.home import prepare
from benchmarks.requests import cpu_nanoseconds

CLIENTS = 50
IDLE_CLIENTS = 100
EVENTS, EACH = 400, 0.02  # events, and a pause between them
SLOW_EVENTS, SLOW_EACH = 20, 0.7
GOAL_MILLISECONDS = 1
_TICKS = os.sysconf("SC_CLK_TCK")
SETTLED_SECONDS = 2.0
IDLE_SECONDS, IDLE_LOOKS = 10.0, 3
IDLE_GOAL = 0.05  # of a core


def spent(pid: int) -> float:
    """Seconds of processor time of a process, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def serve(port: int) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "FLUX_DOOR": "people", "FLUX_LIVE_SOCKETS": "1000", "FLUX_LIVE_SOCKETS_EACH": "1000"}
    return subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "fluxsite.asgi:application", "--port", str(port), "--log-level", "error"],
        env=environment,
    )


def idle_share(pid: int) -> float:
    """What part of a core a process takes while nothing happens: the least of three looks.

    Whatever else a machine does makes the same work cost more, never less.
    """
    time.sleep(SETTLED_SECONDS)
    return min(_share(pid) for _ in range(IDLE_LOOKS))


def _share(pid: int) -> float:
    began, before = time.monotonic_ns(), cpu_nanoseconds(pid)
    time.sleep(IDLE_SECONDS)
    return (cpu_nanoseconds(pid) - before) / (time.monotonic_ns() - began)


def someone(name: str, space: str) -> str:
    """A person with a role in the space, signed in with both factors; their cookie."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.hashers import make_password
    from django.contrib.sessions.backends.base import SessionBase
    from django.utils.module_loading import import_string
    from django_otp import DEVICE_ID_SESSION_KEY

    from accounts import people
    from accounts.models import Authenticator, Membership, Space
    from accounts.signin import second_factors
    from fluxcore import clock

    user = people.save_person(name, make_password(None), administrator=False)
    second_factors.install(user.pk, second_factors.new_key(), spent=-1)
    Membership.objects.create(user=user, space=Space.objects.get(name=space), role="viewer", created_at=clock.now())
    session: SessionBase = import_string(f"{settings.SESSION_ENGINE}.SessionStore")()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session[DEVICE_ID_SESSION_KEY] = Authenticator.objects.get(user=user).persistent_id
    session.create()
    return f"{settings.SESSION_COOKIE_NAME}={session.session_key}"


def open_socket(port: int, space: str, cookie: str) -> Any:
    from websockets.sync.client import connect

    until = time.monotonic() + 60
    while True:
        try:
            feed = connect(
                f"ws://127.0.0.1:{port}/live?space={space}",
                proxy=None,
                compression=None,
                legacy=True,
                additional_headers={"Cookie": cookie, "Origin": f"http://127.0.0.1:{port}"},
            )
        except (ConnectionError, TimeoutError):
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            assert json.loads(feed.recv(timeout=30))["kind"] == "live.open"
            return feed


def tell(space: int, trace: str) -> None:
    from fluxcore import events
    from fluxcore.writes import booth

    recall = {
        "trace": trace,
        "actor": "agent:bench",
        "confidence": 0.74,
        "hops": 2,
        "fallback": False,
        "grains": 5,
        "rung": "warm",
    }
    booth.write(
        lambda: events.append(
            "grains.recalled", space=space, actor="agent:bench", subject=trace, data={"recalls": [recall]}
        )
    )


class House:
    """A server, a space, and so many people who follow it."""

    def __init__(self, clients: int) -> None:
        from accounts import agents
        from accounts.models import Space
        from accounts.principals import shell

        name = f"busy-{clients}"
        agents.create_space(shell(), name=name)
        self.space = Space.objects.get(name=name).pk
        # Sockets of one person would share what is looked up of their right.
        people = [someone(f"person-{number}-of-{clients}", name) for number in range(clients)]
        port = free_port()
        self.server = serve(port)
        self.feeds = [open_socket(port, name, cookie) for cookie in people]
        self.told: dict[str, float] = {}
        self.late: list[float] = []

    def happen(self, events: int, pause: float) -> tuple[float, float]:
        """So many events; processor time of the server and seconds until everybody has heard them all."""
        heard = [0] * len(self.feeds)

        def listen(at: int) -> None:
            for _ in range(events):
                said = json.loads(self.feeds[at].recv(timeout=60))
                heard[at] += 1
                if at == 0:
                    self.late.append(time.monotonic() - self.told[said["subject"]])

        listeners = [threading.Thread(target=listen, args=[at]) for at in range(len(self.feeds))]
        for one in listeners:
            one.start()
        began, before = time.monotonic(), spent(self.server.pid)
        for _ in range(events):
            trace = str(uuid.uuid4())
            self.told[trace] = time.monotonic()
            tell(self.space, trace)
            time.sleep(pause)
        for one in listeners:
            one.join()
        if heard != [events] * len(self.feeds):
            raise RuntimeError("somebody did not hear everything")
        return spent(self.server.pid) - before, time.monotonic() - began

    def end(self) -> None:
        for feed in self.feeds:
            feed.close()
        self.server.terminate()
        self.server.wait(30)


def measure(clients: int) -> list[dict[str, Any]]:
    house = House(IDLE_CLIENTS)
    try:
        idle = idle_share(house.server.pid)
    finally:
        house.end()
    house = House(clients)
    try:
        idle_here = idle_share(house.server.pid)
        cpu, seconds = house.happen(EVENTS, EACH)
        slowly, took = house.happen(SLOW_EVENTS, SLOW_EACH)
    finally:
        house.end()
    each = 1000 * cpu / (EVENTS * clients)
    single = max(1000 * (slowly - idle_here * took), 0.0) / (SLOW_EVENTS * clients)
    late = sorted(house.late)
    return [
        {
            "what": f"CPU of a live event for each of {clients} clients, of 1 ms",
            "ratio": each,
            "goal": f"≤ {GOAL_MILLISECONDS}",
            "measured": f"{1000 * each:.0f} µs; {EVENTS} events in {seconds:.1f} s, {cpu:.2f} s of the server's time",
        },
        {
            "what": "the same when they come one by one",
            "ratio": single,
            "goal": f"≤ {GOAL_MILLISECONDS}",
            "measured": f"{1000 * single:.0f} µs more than without them; {SLOW_EVENTS} events in {took:.1f} s",
        },
        {
            "what": f"{IDLE_CLIENTS} idle clients, of a core",
            "ratio": idle,
            "goal": f"≤ {IDLE_GOAL}",
            "measured": f"{100 * idle:.1f} % of a core: every right is looked up again each 0.4 s",
        },
        {
            "what": "a live event on its way, of 1 s",
            "ratio": late[len(late) // 2],
            "goal": "",
            "measured": f"{1000 * late[len(late) // 2]:.0f} ms median, {1000 * late[int(0.95 * len(late))]:.0f} ms for "
            f"95 of 100, {1000 * late[-1]:.0f} ms at most",
        },
    ]


def main() -> None:
    prepare()
    clients = int(sys.argv[1]) if len(sys.argv) > 1 else CLIENTS
    print(json.dumps(measure(clients)))


if __name__ == "__main__":
    main()
