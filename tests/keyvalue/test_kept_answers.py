"""Answers under idempotency keys: a retry gets the same one, and large values are not kept a second time for it"""

from __future__ import annotations

import json

import pytest

from fluxcore.models import IdempotencyKey
from fluxcore.writes import idempotency
from memory.keyvalue.models import Revision

MINE, LARGE = "/agents/alice/kv", "x" * 200_000


def kept_bytes():
    return sum(len(answer.encode()) for answer in IdempotencyKey.objects.values_list("answer", flat=True))


def sent(api, path, body, key="once"):
    answer = api.post(path, body, headers={"Idempotency-Key": key})
    assert answer.status_code == 200, answer.content
    return answer


def same(first, again):
    """Byte for byte, and with one effect."""
    return first.content == again.content


def test_many_appends_to_a_large_key_leave_little(alice):
    alice.put(f"{MINE}/log", {"value": LARGE})
    for number in range(10):
        sent(alice, f"{MINE}/log", {"op": "append", "value": "y"}, key=f"a{number}")
    assert kept_bytes() < 10 * idempotency.KEPT_WHOLE
    assert alice.get(f"{MINE}/log").json()["version"] == 11


def test_a_retry_gets_the_value_of_its_version(alice, configure):
    alice.put(f"{MINE}/log", {"value": LARGE})
    append, patch = {"op": "append", "value": "y"}, {"op": "patch", "patch": {"more": 1}}
    first = sent(alice, f"{MINE}/log", append)
    sent(alice, f"{MINE}/log", append, key="another")
    assert first.json()["value"] == LARGE + "y" and same(first, sent(alice, f"{MINE}/log", append))
    alice.put(f"{MINE}/object", {"value": {"text": LARGE}})
    second = sent(alice, f"{MINE}/object", patch, key="patch")
    assert second.json()["value"]["more"] == 1 and same(second, sent(alice, f"{MINE}/object", patch, key="patch"))


def test_a_batch_has_each_of_its_values_again(alice):
    alice.put(f"{MINE}/log", {"value": LARGE})
    steps = [{"op": "append", "key": "log", "value": one} for one in "ab"]
    batch = {"operations": [*steps, {"op": "incr", "key": "n"}, {"op": "set", "key": "s", "value": LARGE}]}
    first = sent(alice, "/agents/alice/batch", batch)
    assert [len(one.get("value", "")) for one in first.json()["results"][:2]] == [200_001, 200_002]
    assert same(first, sent(alice, "/agents/alice/batch", batch)) and kept_bytes() < idempotency.KEPT_WHOLE


def test_a_claimed_task_is_told_again_until_it_is_done(alice):
    alice.post("/queues", {"queue": "work", "value": LARGE})
    claim = {"queue": "work"}
    first = sent(alice, "/queues/claim", claim)
    assert kept_bytes() < idempotency.KEPT_WHOLE and same(first, sent(alice, "/queues/claim", claim))
    told = first.json()
    alice.post("/queues/done", {**claim, "task": told["task"], "token": told["token"]})
    again = sent(alice, "/queues/claim", claim).json()
    assert again == {**{name: told[name] for name in told if name != "value"}, "value_omitted": True}


@pytest.mark.parametrize("gone", ["history", "board"])
def test_a_value_that_is_gone_is_said_to_be(alice, gone):
    alice.post("/boards", {"board": "scratch"})
    where, append = "/boards/scratch/kv/log", {"op": "append", "value": "y"}
    alice.put(where, {"value": LARGE})
    told = sent(alice, where, append).json()
    alice.put(where, {"value": 1})
    if gone == "history":
        Revision.objects.all().delete()
    else:
        assert alice.delete("/boards/scratch").status_code == 200
    again = sent(alice, where, append).json()
    assert again == {**{name: told[name] for name in told if name != "value"}, "value_omitted": True}


def test_without_history_the_key_itself_has_it(alice, configure):
    configure(KV_HISTORY_VERSIONS=0)
    alice.put(f"{MINE}/log", {"value": LARGE})
    append = {"op": "append", "value": "y"}
    first = sent(alice, f"{MINE}/log", append)
    assert not Revision.objects.exists() and same(first, sent(alice, f"{MINE}/log", append))


def test_a_small_answer_is_kept_whole(alice):
    sent(alice, f"{MINE}/log", {"op": "append", "value": "y" * 3_000})
    alice.delete(f"{MINE}/log")
    Revision.objects.all().delete()
    assert json.loads(IdempotencyKey.objects.get().answer)["value"] == ["y" * 3_000]
