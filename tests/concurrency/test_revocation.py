"""A revoked token is dead on every process as soon as the revocation returns."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter

from tests.concurrency.conftest import Fleet
from tests.concurrency.databases import on
from tests.concurrency.load import Call, Reply, send, together

_REVOKE = """
import time
from accounts import tokens
from accounts.principals import shell
tokens.revoke(shell(), prefix={prefix!r})
print(time.time())
"""


@on("sqlite", "postgres")
def test_no_request_sent_after_the_revocation_is_accepted(fleet: Fleet) -> None:
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
            while len(replies) < 200 and time.monotonic() < until:
                time.sleep(0.01)
            revoked_at = fleet.python(_REVOKE.format(prefix=token.split("_")[1]))
            wanted, until = len(replies) + 200, time.monotonic() + 30
            while len(replies) < wanted and time.monotonic() < until:
                over.wait(0.01)
        finally:
            over.set()

    together(17, lambda number: operator() if number == 16 else client(number))
    before = Counter(reply.status for reply in replies if reply.sent <= revoked_at)
    after = Counter(reply.status for reply in replies if reply.sent > revoked_at)
    print(f"\nrevocation on {fleet.kind}: before {dict(before)}, after {dict(after)}")
    assert before[200] >= 200
    assert set(after) == {401}
    assert after[401] >= 150
