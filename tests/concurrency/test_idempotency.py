"""A write that is sent again counts once, whichever process gets the copies."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict

from tests.concurrency.conftest import Fleet
from tests.concurrency.databases import few_or_many, on_fleets
from tests.concurrency.load import Call, fire

_FOUND = """
import json
from memory.grains.models import Grain
from accounts.models import AuditEntry
rows = Grain.objects.filter(text__startswith="once {keys} ")
writes = AuditEntry.objects.filter(action="grains.store", outcome="done", object__in=[str(row.uuid) for row in rows])
print(json.dumps([rows.count(), sum(row.corroborations for row in rows), writes.count()]))
"""


@few_or_many("keys", 60, 200)
@on_fleets("sqlite", "postgres")
def test_keys_sent_five_times_count_once(fleet: Fleet, keys: int) -> None:
    fleet.limit(1_000_000)
    _, token = fleet.agent()
    # A third of the texts come under two different keys, so corroborations are counted as well as grains.
    texts = keys * 3 // 4
    calls = [
        Call(token, {"content": f"once {keys} {number % texts}"}, key=f"key-{number}") for number in range(keys)
    ] * 5
    random.Random(2).shuffle(calls)
    replies = fire(fleet.instance, calls, threads=16)

    assert Counter(reply.status for reply in replies) == {200: 5 * keys}
    answers = defaultdict(set)
    for reply in replies:
        answers[reply.call.key].add(json.dumps(reply.json(), sort_keys=True))  # jsonb keeps no order of keys
    assert len(answers) == keys
    assert all(len(bodies) == 1 for bodies in answers.values()), "a key had two answers"
    statuses = Counter(reply.json()["status"] for reply in {reply.call.key: reply for reply in replies}.values())
    grains, corroborations, audited = fleet.python(_FOUND.format(keys=keys))
    print(f"\nidempotency on {fleet.kind}: {grains} grains + {corroborations} corroborations, {audited} audit entries")
    assert (grains, corroborations, audited) == (texts, keys - texts, keys)
    assert statuses == {"stored": texts, "corroborated": keys - texts}


@on_fleets("sqlite", "postgres")
def test_the_same_key_with_another_text_is_refused(fleet: Fleet) -> None:
    fleet.limit(1_000_000)
    _, token = fleet.agent()
    calls = [Call(token, {"content": f"rival {number}"}, key="contested") for number in range(32)]
    replies = fire(fleet.instance, calls, threads=16)
    assert Counter(reply.status for reply in replies) == {200: 1, 409: 31}
