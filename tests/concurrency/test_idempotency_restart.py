"""An idempotency key outlives a crash of the whole instance: what was answered is answered again, not done again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest

from tests.concurrency.databases import connect, database_with_tables
from tests.instances import Instance


@pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.proof])]
)
def test_a_write_retried_after_a_crash_gets_its_first_answer(
    instance: Callable[..., Instance], request: pytest.FixtureRequest, database: str
) -> None:
    url = {}
    if database == "postgres":
        url["DATABASE_URL"] = database_with_tables(request.getfixturevalue("postgres_url"))
    one = instance(**url).with_tables().start()
    key = {"Idempotency-Key": "order 7"}
    first = one.call("POST", "/store", {"content": "once and for all", "provenance": "user_stated"}, headers=key)
    assert first.status == 200, first.body
    one.kill()
    one.start()

    # The fields in another order are the same body; Python's own hashes would differ between the two processes.
    again = one.call("POST", "/store", {"provenance": "user_stated", "content": "once and for all"}, headers=key)
    assert (again.status, again.json()) == (200, first.json())
    other = one.call("POST", "/store", {"content": "something else"}, headers=key)
    assert (other.status, other.json()["code"]) == (409, "idempotency_key_reused")

    assert one.call("GET", "/grains").json()["count"] == 1
    with closing(connect(one)) as line:
        assert line.execute("SELECT text, corroborations FROM grains_grain").fetchall() == [("once and for all", 0)]
        written = "SELECT count(*) FROM accounts_auditentry WHERE action = 'grains.store' AND outcome = 'done'"
        assert line.execute(written).fetchone() == (1,)
