"""Three hundred votes, each sent five times by sixteen clients, with five kills of everything: each is applied once."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.concurrency.databases import connect, new_database
from tests.concurrency.load import Call, fire
from tests.instances import Instance

pytestmark = pytest.mark.torture

QUESTIONS, GRAINS, TIMES, CLIENTS, KILLS = 60, 5, 5, 16, 5


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def instance(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Instance]:
    environment = {}
    if request.param == "postgres":
        environment["DATABASE_URL"] = new_database(request.getfixturevalue("postgres_url"))
    one = Instance(tmp_path, **environment)
    one.folder.mkdir(parents=True, mode=0o700)
    (one.folder / "config.yaml").write_text("MAX_GRAINS_PER_MINUTE: 100000\n")
    yield one.start()
    one.stop()


def test_each_vote_is_applied_once_however_often_it_is_sent_and_whoever_is_killed(instance: Instance) -> None:
    for number in range(40):
        body = {
            "content": f"Fact {number}: the ferry {number} to Porto leaves at {number % 24}",
            "session": f"s{number % 7}",
        }
        assert instance.call("POST", "/store", body, token=instance.token).status == 200
    calls = []
    for number in range(QUESTIONS):
        body = {"query": f"When does the ferry {number} leave for Porto?", "k": GRAINS}
        answer = instance.call("POST", "/retrieve", body, token=instance.token).json()
        assert len(answer["grains"]) == GRAINS
        for place, grain in enumerate(answer["grains"]):
            said = {"trace_id": answer["trace_id"], "grain_id": grain["id"], "useful": place % 2 == 0}
            calls += [Call(instance.token, said, path="/feedback")] * TIMES
    random.Random(7).shuffle(calls)
    replies = []
    for part in range(KILLS):
        replies += fire(instance, calls[part::KILLS], threads=CLIENTS)
        instance.kill()  # the worker in the middle of it, and everything else
        instance.start()
    assert {reply.status for reply in replies} == {200}, [reply.body for reply in replies if reply.status != 200][:3]
    wanted = QUESTIONS * GRAINS
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with connect(instance) as database:
            waiting = database.execute("SELECT count(*) FROM grains_vote WHERE NOT applied").fetchone()[0]
        if not waiting:
            break
        time.sleep(0.5)
    with connect(instance) as database:
        votes = database.execute("SELECT count(*) FROM grains_vote WHERE applied").fetchone()[0]
        sums = database.execute(
            "SELECT c.id, c.gain, c.loss, COALESCE(SUM(e.gain), 0), COALESCE(SUM(e.loss), 0) FROM grains_conduit c "
            "JOIN grains_effect e ON e.conduit_id = c.id GROUP BY c.id, c.gain, c.loss"
        ).fetchall()
        told = database.execute("SELECT count(*) FROM fluxcore_event WHERE kind = 'vote.recorded'").fetchone()[0]
    changed = sum(reply.json()["changed"] for reply in replies)
    print(
        f"\n{len(replies)} requests for {wanted} votes, {KILLS} kills of everything: {votes} applied, "
        f"{changed} answers said it was new, {told} events, {len(sums)} conduits moved"
    )
    assert (votes, waiting, changed, told) == (wanted, 0, wanted, wanted)
    assert sums and all((gain, loss) == (int(gains), int(losses)) for _, gain, loss, gains, losses in sums)
