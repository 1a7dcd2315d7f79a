"""A revoked token, or grant, is dead on every process as soon as the revocation returns."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter

from tests.concurrency.conftest import Fleet
from tests.concurrency.databases import few_or_many, on_fleets
from tests.concurrency.load import Call, Reply, send, together

CLIENTS = 16
_REVOKE = """
import time
from accounts import tokens
from accounts.principals import shell
tokens.revoke(shell(), prefix={prefix!r})
print(time.time())
"""


# Requests before the revocation, and as many after it.
@few_or_many("enough", 150, 550)
@on_fleets("sqlite", "postgres")
def test_no_request_sent_after_the_revocation_is_accepted(fleet: Fleet, enough: int) -> None:
    fleet.limit(1_000_000)
    _, token = fleet.agent()
    replies: list[Reply] = []
    over = threading.Event()
    revoked_at = 0.0
    numbers = itertools.count()

    def client(_: int) -> None:
        line = fleet.instance.connection()
        while not over.is_set():
            replies.append(send(fleet.instance, Call(token, {"content": f"in flight {next(numbers)}"}), line))
            if replies[-1].status == 401:
                line.close()  # the server has not read the body and hangs up; http.client connects anew
        line.close()

    def operator() -> None:
        nonlocal revoked_at
        try:
            until = time.monotonic() + 30
            while len(replies) < enough and time.monotonic() < until:
                time.sleep(0.01)
            revoked_at = fleet.python(_REVOKE.format(prefix=token.split("_")[1]))
            wanted, until = len(replies) + enough, time.monotonic() + 30
            while len(replies) < wanted and time.monotonic() < until:
                over.wait(0.01)
        finally:
            over.set()

    together(CLIENTS + 1, lambda number: operator() if number == CLIENTS else client(number))
    before = Counter(reply.status for reply in replies if reply.sent <= revoked_at)
    after = Counter(reply.status for reply in replies if reply.sent > revoked_at)
    print(f"\nrevocation on {fleet.kind}: before {dict(before)}, after {dict(after)}")
    assert len(fleet.writers()) >= 2, "one process took all the load"
    assert before[200] >= enough
    assert set(after) == {401}
    assert after[401] >= enough - CLIENTS
    assert len(replies) >= 2 * enough - CLIENTS


_GRANT = """
import json
from accounts import agents, grants, tokens
from accounts.principals import shell
from fluxsite.setup import FIRST_SPACE
agents.create_agent(shell(), space=FIRST_SPACE, name={name!r}, capabilities=["grains.write"])
given = grants.give(shell(), space=FIRST_SPACE, agent={name!r}, capability="grains.read")
print(json.dumps([tokens.mint(shell(), space=FIRST_SPACE, agent={name!r})["token"], given["id"]]))
"""
_TAKE_BACK = """
import time
from accounts import grants
from accounts.principals import shell
grants.revoke(shell(), grant={grant!r})
print(time.time())
"""


@few_or_many("enough", 150, 550)
@on_fleets("sqlite", "postgres")
def test_no_read_sent_after_a_grant_was_revoked_is_answered(fleet: Fleet, enough: int) -> None:
    token, grant = fleet.python(_GRANT.format(name=f"granted-{enough}"))
    replies: list[Reply] = []
    over = threading.Event()
    taken_back_at = 0.0

    def client(_: int) -> None:
        line = fleet.instance.connection()
        while not over.is_set():
            replies.append(send(fleet.instance, Call(token, method="GET", path="/grains?limit=1"), line))
        line.close()

    def operator() -> None:
        nonlocal taken_back_at
        try:
            until = time.monotonic() + 30
            while len(replies) < enough and time.monotonic() < until:
                time.sleep(0.01)
            taken_back_at = fleet.python(_TAKE_BACK.format(grant=grant))
            wanted, until = len(replies) + enough, time.monotonic() + 30
            while len(replies) < wanted and time.monotonic() < until:
                over.wait(0.01)
        finally:
            over.set()

    together(CLIENTS + 1, lambda number: operator() if number == CLIENTS else client(number))
    before = Counter(reply.status for reply in replies if reply.sent <= taken_back_at)
    after = Counter(reply.status for reply in replies if reply.sent > taken_back_at)
    print(f"\ngrant on {fleet.kind}: before {dict(before)}, after {dict(after)}")
    assert before[200] >= enough
    assert set(after) <= {403, 429}  # refusals are limited too
    assert after[403] >= 100
    assert len(replies) >= 2 * enough - CLIENTS
