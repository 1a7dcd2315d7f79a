"""The agents' live feed on running instances: what is seen, what is not, and how fast a right ends."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection

from tests.concurrency.conftest import Fleet
from tests.concurrency.databases import connect, on_fleets
from tests.concurrency.load import Call, fire, send
from tests.live_feeds import SOON, agents_address, agents_feed, handshake_refusal, next_message, wait_for_end

_ACT = """
import json, time
from accounts import agents, tokens
from accounts.models import Agent
from accounts.principals import shell
from fluxsite.setup import FIRST_SPACE
agent = Agent.objects.get(pk={agent})
{act}
print(time.time())
"""
REVOKE = "tokens.revoke(shell(), prefix={prefix!r})"
STOP = "agents.switch_agent(shell(), space=FIRST_SPACE, name=agent.name, active=False)"
STRIP = "agents.apply_agent(shell(), space=FIRST_SPACE, name=agent.name, capabilities=['grains.write'])"
GRANT = """
from datetime import timedelta
from accounts import grants
from fluxcore import clock
until = clock.now() + timedelta(seconds=2)
grants.give(shell(), space=FIRST_SPACE, agent=agent.name, capability="grains.read", expires_at=clock.rfc3339(until))
time.time = until.timestamp  # what is printed below: when it ends
"""
EXPIRE = "from accounts.models import Token; Token.objects.filter(agent=agent).update(expires_at='2020-01-01T00:00Z')"


def act(fleet: Fleet, agent: int, token: str, what: str) -> float:
    """Do something to an agent; the moment it was done."""
    done = fleet.python(_ACT.format(agent=agent, act=what.format(prefix=token.split("_")[1])))
    return float(done)


def store(fleet: Fleet, token: str, *texts: str) -> list[str]:
    """Store texts, four writers at a time; the ids of their grains."""
    replies = fire(fleet.instance, [Call(token, {"content": text}) for text in texts], threads=min(4, len(texts)))
    assert {reply.status for reply in replies} == {200}
    return [reply.json()["grain_id"] for reply in replies]


@on_fleets("sqlite", "postgres")
def test_a_feed_has_the_events_of_its_space_and_never_a_text(fleet: Fleet) -> None:
    fleet.limit(1_000_000)
    _, token = fleet.agent()
    with agents_feed(fleet.instance, token) as feed:
        asked = fire(fleet.instance, [Call(token, {"query": "When is the launch?"}, path="/retrieve")], threads=1)
        assert asked[0].status == 200
        # The news of it, which is not for agents, is written together with its receipt, before what follows.
        trace = asked[0].json()["trace_id"]
        waited_until(lambda: fleet.instance.call("GET", f"/traces/{trace}", token=token).status == 200, seconds=60)
        [grain] = store(fleet, token, "The launch is on Friday")
        said = next_message(feed)
    assert set(said) == {"kind", "at", "actor", "subject", "data", "position"}
    assert (said["kind"], said["subject"]) == ("grain.stored", grain)
    assert said["actor"].startswith("agent:client-") and said["at"].endswith("Z")
    assert "Friday" not in str(said)


@on_fleets("sqlite", "postgres")
def test_writes_of_all_processes_arrive_once_in_one_order_and_a_feed_resumes_where_it_ended(fleet: Fleet) -> None:
    fleet.limit(1_000_000)
    _, token = fleet.agent()
    with agents_feed(fleet.instance, token) as first, agents_feed(fleet.instance, token) as second:
        grains = store(fleet, token, *(f"order {number}" for number in range(300)))
        seen = [next_message(first) for _ in grains]
        assert [said["subject"] for said in seen] == [next_message(second)["subject"] for _ in grains]
    assert sorted(said["subject"] for said in seen) == sorted(grains)
    half = len(seen) // 2
    more = store(fleet, token, "after the break")
    with agents_feed(fleet.instance, token, since=seen[half - 1]["position"]) as again:
        rest = [next_message(again)["subject"] for _ in range(len(seen) - half + 1)]
    assert rest == [said["subject"] for said in seen[half:]] + more


@on_fleets("sqlite", "postgres")
def test_a_revoked_token_closes_its_sockets_soon_and_they_get_nothing_newer(fleet: Fleet) -> None:
    fleet.limit(1_000_000)
    number, token = fleet.agent()
    _, writer = fleet.agent()
    feeds = [agents_feed(fleet.instance, token) for _ in range(3)]
    results: list[tuple[int, float, list[dict[str, Any]]]] = []
    listeners = [threading.Thread(target=lambda feed=feed: results.append(wait_for_end(feed, 60))) for feed in feeds]
    written: list[tuple[float, str]] = []  # when each was sent, and its grain
    over = threading.Event()
    numbers = itertools.count()

    def write() -> None:
        line = fleet.instance.connection()
        while not over.is_set():
            reply = send(fleet.instance, Call(writer, {"content": f"under load {next(numbers)}"}), line)
            written.append((reply.sent, reply.json()["grain_id"]))

    writers = [threading.Thread(target=write) for _ in range(4)]
    for one in [*listeners, *writers]:
        one.start()
    try:
        until = time.monotonic() + 30
        while len(written) < 50 and time.monotonic() < until:
            time.sleep(0.01)
        revoked_at = act(fleet, number, token, REVOKE)
        for one in listeners:
            one.join(60)
        time.sleep(0.3)
    finally:
        over.set()
        for one in writers:
            one.join()
    newer = {grain for sent, grain in written if sent > revoked_at}
    assert len(results) == 3 and newer
    slowest = max(moment - revoked_at for _, moment, _ in results)
    print(f"\nopen sockets of a revoked token on {fleet.kind}: closed after at most {slowest:.2f} s")
    assert slowest < SOON
    for code, _, said in results:
        assert code == 4401
        assert len(said) >= 20
        assert not {one["subject"] for one in said} & newer
    assert handshake_refusal(agents_address(fleet.instance), Authorization=f"Bearer {token}").status == 401


@pytest.mark.torture
@on_fleets("sqlite", "postgres")
def test_on_a_quiet_machine_no_socket_outlives_its_token_by_a_second(fleet: Fleet) -> None:
    slowest = 0.0
    for _ in range(10):
        number, token = fleet.agent()
        with agents_feed(fleet.instance, token) as feed:
            revoked_at = act(fleet, number, token, REVOKE)
            code, moment, _ = wait_for_end(feed)
        assert code == 4401
        slowest = max(slowest, moment - revoked_at)
    print(f"\nten revocations on {fleet.kind}: the slowest socket closed after {slowest:.2f} s")
    assert slowest < 1


@on_fleets("sqlite", "postgres")
@pytest.mark.parametrize(
    ("what", "code"), [(STOP, 4401), (EXPIRE, 4401), (STRIP, 4403)], ids=["stopped", "expired", "stripped"]
)
def test_every_other_end_of_a_right_closes_the_socket_soon(fleet: Fleet, what: str, code: int) -> None:
    number, token = fleet.agent()
    with agents_feed(fleet.instance, token) as feed:
        done_at = act(fleet, number, token, what)
        found, moment, said = wait_for_end(feed)
    # On PostgreSQL what others wrote before may be told late, behind a transaction that was open.
    since = [one for one in said if datetime.fromisoformat(one["at"]).timestamp() > done_at]
    assert (found, since) == (code, [])
    assert moment - done_at < SOON


@on_fleets("sqlite", "postgres")
def test_an_expired_grant_ends_the_feed(fleet: Fleet) -> None:
    number, token = fleet.agent()
    act(fleet, number, token, STRIP)
    assert handshake_refusal(agents_address(fleet.instance), Authorization=f"Bearer {token}").status == 403
    ends_at = act(fleet, number, token, GRANT)
    with agents_feed(fleet.instance, token) as feed:
        code, moment, _ = wait_for_end(feed)
    assert code == 4403
    assert 0 < moment - ends_at < SOON


@on_fleets("postgres")
def test_while_the_database_does_not_answer_no_right_is_assumed(fleet: Fleet) -> None:
    _, token = fleet.agent()
    with agents_feed(fleet.instance, token) as feed, connect(fleet.instance) as line, line.transaction():
        line.execute("LOCK TABLE accounts_token IN ACCESS EXCLUSIVE MODE")
        began = time.time()
        code, moment, said = wait_for_end(feed)
    assert (code, said) == (1013, [])
    assert moment - began > 2
    agents_feed(fleet.instance, token).close()


@on_fleets("sqlite")
def test_a_client_that_sends_into_a_feed_is_disconnected(fleet: Fleet) -> None:
    _, token = fleet.agent()
    for words, code in (("hello", 4400), (b"\x00", 4400), ("x" * 5000, 1009)):
        with agents_feed(fleet.instance, token) as feed:
            feed.send(words)
            assert wait_for_end(feed)[0] == code


@on_fleets("sqlite")
def test_an_agent_holds_eight_sockets_and_a_closed_one_makes_room(fleet: Fleet) -> None:
    _, token = fleet.agent()
    feeds = [agents_feed(fleet.instance, token) for _ in range(8)]
    answer = handshake_refusal(agents_address(fleet.instance), Authorization=f"Bearer {token}")
    assert answer.status == 429 and answer.json()["code"] == "rate_limited" and int(answer.headers["retry-after"]) > 0
    _, other = fleet.agent()
    agents_feed(fleet.instance, other).close()
    feeds.pop().close()
    feeds.append(opened_in_time(fleet, token))
    for feed in feeds:
        feed.close()


@on_fleets("sqlite")
def test_a_ping_is_answered_and_an_idle_feed_stays_open(fleet: Fleet) -> None:
    _, token = fleet.agent()
    with agents_feed(fleet.instance, token) as feed:
        assert feed.ping().wait(5)
        with pytest.raises(TimeoutError):
            feed.recv(timeout=1.5)
        store(fleet, token, "still here")
        assert next_message(feed)["kind"] == "grain.stored"


@on_fleets("sqlite")
@pytest.mark.parametrize("since", ["0.99999999999", "x", "-1.0", "1", "0.9223372036854775808", "0." + "9" * 60])
def test_an_invalid_position_is_refused_before_the_socket_opens(fleet: Fleet, since: str) -> None:
    _, token = fleet.agents[-1]
    answer = handshake_refusal(agents_address(fleet.instance, since), Authorization=f"Bearer {token}")
    assert answer.status == 422 and answer.json()["details"]["field"] == "since"


@on_fleets("sqlite", "postgres")
def test_a_feed_catches_up_with_a_long_log_from_its_beginning(fleet: Fleet) -> None:
    fleet.limit(1_000_000)
    _, token = fleet.agent()
    fill_the_log(fleet, token, events=450, size=10)
    [last] = store(fleet, token, "the end of the backlog")
    with agents_feed(fleet.instance, token, since="0.0") as feed:
        seen = [next_message(feed)]
        while seen[-1]["subject"] != last:
            seen.append(next_message(feed))
    positions = [tuple(int(part) for part in said["position"].split(".")) for said in seen]
    assert len(seen) >= 450 and positions == sorted(set(positions))


@on_fleets("sqlite")
def test_no_socket_is_left_behind_by_clients_that_vanish(fleet: Fleet) -> None:
    _, token = fleet.agent()
    for _ in range(3):
        for feed in [opened_in_time(fleet, token) for _ in range(8)]:
            feed.socket.shutdown(socket.SHUT_RDWR)  # no goodbye
    opened_in_time(fleet, token).close()


@pytest.mark.parametrize("to_the_end", [False, pytest.param(True, marks=pytest.mark.torture)])
@on_fleets("sqlite")
def test_a_client_that_does_not_read_is_disconnected_and_delays_nobody(fleet: Fleet, to_the_end: bool) -> None:
    fleet.limit(1_000_000)
    _, token = fleet.agent()
    with agents_feed(fleet.instance, token) as calm:
        start = heard_after(fleet, token, calm)["position"]
        fill_the_log(fleet, token, events=3000, size=4000)
        deaf = raw_feed(fleet.instance, token, since=start)
        began = time.monotonic()
        store(fleet, token, "said to everybody else meanwhile")
        while next_message(calm)["kind"] != "grain.stored":
            pass
        assert time.monotonic() - began < 4 or not to_the_end  # on a machine that does nothing else
        waited_until(lambda: sockets_held(fleet, token) == 1, seconds=60)
        assert time.monotonic() - began > 4
        if to_the_end:  # the connection itself is cut as well, although what was written to it can never be sent
            waited_until(lambda: not connected(deaf), seconds=20)
        deaf.close()
        store(fleet, token, "and afterwards")
        assert next_message(calm)["kind"] == "grain.stored"


def opened_in_time(fleet: Fleet, token: str) -> ClientConnection:
    """A feed, as soon as the server has seen that another one of the agent is closed."""
    opened: list[ClientConnection] = []

    def opens() -> bool:
        try:
            opened.append(agents_feed(fleet.instance, token))
        except InvalidStatus:
            return False
        return True

    waited_until(opens, seconds=30)
    return opened[0]


def waited_until(holds: Callable[[], bool], *, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.2)


def connected(client: socket.socket) -> bool:
    """Whether the server's end of a connection is still there, as the kernel lists it."""
    ours, theirs = (f":{end[1]:04X}" for end in (client.getsockname(), client.getpeername()))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(row[1].endswith(theirs) and row[2].endswith(ours) for row in rows)


def heard_after(fleet: Fleet, token: str, feed: Any) -> dict[str, Any]:
    store(fleet, token, "a place to begin")
    return next_message(feed)


def fill_the_log(fleet: Fleet, token: str, *, events: int, size: int) -> None:
    """Faster than through the door; none can be larger than four kilobytes."""
    fleet.python(f"""
from accounts import tokens
from fluxcore import events
from fluxcore.writes import booth
agent = tokens.authenticate({token!r})
def fill():
    for number in range({events}):
        events.append("grain.filled", space=agent.space, actor="x", subject=str(number), data={{"x": "x" * {size}}})
booth.write(fill)
print(0)
""")


def raw_feed(instance: Any, token: str, since: str) -> socket.socket:
    """A client that opens a feed and then never reads from its connection."""
    line = socket.create_connection(("127.0.0.1", instance.state["ports"]["mcp"]))
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.sendall(
        f"GET /live?since={since} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        f"Authorization: Bearer {token}\r\n\r\n".encode()
    )
    assert line.recv(12) == b"HTTP/1.1 101"
    return line


def sockets_held(fleet: Fleet, token: str) -> int:
    """How many of the agent's eight places are taken, found out by taking the others."""
    free = []
    try:
        while True:
            free.append(agents_feed(fleet.instance, token))
    except InvalidStatus:
        return 8 - len(free)
    finally:
        for feed in free:
            feed.close()
        time.sleep(0.1)
