"""SQL statements per hot request, checked in: a new one must be a decision, not an accident."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

# BEGIN, COMMIT and savepoints are not counted. On PostgreSQL a write also takes its turn (two statements) and
# locks the head of the audit chain.
COUNTS = {
    "sqlite": {
        "GET /grains/{id}": 7,
        "GET /grains": 2,
        "POST /store": 13,
        "POST /store again": 8,
        "POST /store/batch": 13,
    },
    "postgresql": {
        "GET /grains/{id}": 7,
        "GET /grains": 2,
        "POST /store": 16,
        "POST /store again": 11,
        "POST /store/batch": 16,
    },
}
_TRANSACTION = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")


@pytest.fixture
def warm(transactional_db: None, api: Any) -> Any:
    """A caller whose token's last use and whose minute are already noted."""
    api.post("/store", {"content": "warm"})
    return api


def statements(call: Any) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        answer = call()
    assert answer.status_code == 200, answer.content
    return [query["sql"] for query in captured if not query["sql"].startswith(_TRANSACTION)]


@pytest.mark.parametrize("what", list(COUNTS["sqlite"]))
def test_a_request_costs_as_many_statements_as_written_down(warm: Any, what: str) -> None:
    grain = json.loads(warm.post("/store", {"content": "known"}).content)["grain_id"]
    calls = {
        "GET /grains/{id}": lambda: warm.get(f"/grains/{grain}"),
        "GET /grains": lambda: warm.get("/grains"),
        "POST /store": lambda: warm.post("/store", {"content": "Ada has 3 new cats", "session": "s"}),
        "POST /store again": lambda: warm.post("/store", {"content": "known"}),
        "POST /store/batch": lambda: warm.post("/store/batch", {"items": [{"content": f"{n}"} for n in range(50)]}),
    }
    sent = statements(calls[what])
    assert len(sent) == COUNTS[connection.vendor][what], "\n".join(sent)
