"""A key purged with its history: nothing of what it held is left, and only those who may can do it."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from accounts import audit
from accounts.models import AuditEntry, Space
from accounts.principals import shell
from fluxcore import clock
from fluxcore.errors import Forbidden, StepUpRequired
from fluxcore.models import Event, IdempotencyKey, Job
from fluxcore.versioned import sha_of
from fluxcore.work import worker
from memory.keyvalue import purging, verbs
from memory.keyvalue.models import Item, Namespace, Revision
from tests.grains.lifecycle.test_purge import everywhere
from tests.grains.lifecycle.test_verbs import person
from tests.rest.routes import refused

SECRET = "hunter2-quillfeather"
MINE, BOARD = "/agents/alice/kv", "/boards/main/kv"


def history_of(api, key, where="agents/alice"):
    return api.get(f"/{where}/history/{key}").json()["versions"]


def filled(api, where=MINE, key="secret"):
    """Written, changed in every way that answers with a value, under idempotency keys, and written once more."""
    sha = api.put(f"{where}/{key}", {"value": [SECRET]}, headers={"Idempotency-Key": "set"}).json()["sha"]
    api.post(f"{where}/{key}", {"op": "append", "value": SECRET}, headers={"Idempotency-Key": "append"})
    batch = {"operations": [{"op": "append", "key": key, "value": SECRET}, {"op": "set", "key": "other", "value": 1}]}
    api.post(where.replace("/kv", "/batch"), batch, headers={"Idempotency-Key": "batch"})
    return sha


def test_no_table_holds_a_finished_task_or_its_digest(alice):
    assert alice.post("/queues", {"queue": "work", "value": SECRET}).status_code == 200
    task = alice.post("/queues/claim", {"queue": "work"}).json()
    alice.post("/queues/done", {"queue": "work", "task": task["task"], "token": task["token"]})
    assert everywhere(SECRET) == everywhere(sha_of(SECRET)) == []


@pytest.mark.parametrize("where", [MINE, BOARD])
@pytest.mark.parametrize("deleted", [False, True])
def test_no_table_holds_what_the_key_held(alice, where, deleted):
    sha = filled(alice, where)
    if deleted:
        alice.delete(f"{where}/secret")
    assert {"keyvalue_revision", "fluxcore_idempotencykey"} <= set(everywhere(SECRET))
    answer = alice.send("DELETE", f"{where}/secret?history=forget", {"reason": "it leaked"}).json()
    assert answer == {"key": "secret", "deleted": not deleted, "version": 0 if deleted else 3, "forgotten": 3}
    assert everywhere(SECRET) == everywhere(sha) == []
    assert refused(alice.get(f"{where}/secret"), 404, "not_found")
    assert history_of(alice, "secret", where[1:-3]) == []
    for version in (1, 2, 3):
        path = where.replace("/kv", "/history")
        assert refused(alice.get(f"{path}/secret?version={version}"), 404, "not_found")
    assert alice.get(f"{where}/other").json()["value"] == 1
    # A retry of what wrote it is refused and writes nothing.
    for key in ("set", "append"):
        again = {"op": "append", "value": SECRET} if key == "append" else {"value": [SECRET]}
        call = alice.post if key == "append" else alice.put
        refused(call(f"{where}/secret", again, headers={"Idempotency-Key": key}), 409, "idempotency_key_reused")
    assert everywhere(SECRET) == []
    chain = Space.objects.get(name="home").uuid.hex
    entry = AuditEntry.objects.get(chain=chain, action="kv.forget")
    assert (entry.object, entry.reason) == (f"{where[1:-3]}/secret", "it leaked")
    assert json.loads(entry.details)["forgotten"] == 3
    assert audit.verify(chain).sound
    assert Event.objects.get(kind="kv.forgotten").data["versions"] == 3


def test_a_second_time_and_a_key_that_never_was_are_fine(alice):
    nothing = {"deleted": False, "version": 0, "forgotten": 0}
    assert alice.delete(f"{MINE}/never?history=forget").json() == {"key": "never", **nothing}
    filled(alice)
    assert alice.delete(f"{MINE}/secret?history=forget").json()["forgotten"] == 3
    assert alice.delete(f"{MINE}/secret?history=forget").json() == {"key": "secret", **nothing}
    assert AuditEntry.objects.filter(action="kv.forget").count() == 3
    assert alice.put(f"{MINE}/secret", {"value": 1}).json()["version"] == 4, "no version is ever given twice"
    held = Namespace.objects.get(name="alice")
    assert (held.keys, held.bytes) == (2, 2)


def test_what_is_expected_must_hold(alice):
    filled(alice)
    details = refused(alice.delete(f"{MINE}/secret?history=forget&expected_version=1"), 409, "conflict")
    assert details["current_version"] == 3 and Revision.objects.filter(item__key="secret").count() == 3
    for wrong in ("all", "", "true"):
        refused(alice.delete(f"{MINE}/secret?history={wrong}"), 422, "invalid")
    assert alice.delete(f"{MINE}/secret?history=keep").json() == {"key": "secret", "deleted": True, "version": 3}
    assert len(history_of(alice, "secret")) == 4


def test_a_value_that_has_expired_and_is_kept_for_a_while_goes_too(alice, clocks):
    alice.put(f"{MINE}/secret", {"value": SECRET, "ttl_secs": 10})
    clocks.passes(11)
    assert everywhere(SECRET)
    assert alice.delete(f"{MINE}/secret?history=forget").json()["forgotten"] == 1
    assert everywhere(SECRET) == []
    assert (Namespace.objects.get().keys, Namespace.objects.get().bytes) == (0, 0)


def test_an_agent_forgets_its_own_keys_and_elsewhere_what_it_alone_wrote(alice, bob, with_rights):
    carol = with_rights("memory.read@alice:*", "memory.write@alice:*", "bb.read", "bb.write", name="carol")
    reader = with_rights("memory.read", name="reader")
    filled(alice)
    refused(carol.delete(f"{MINE}/secret?history=forget"), 403, "forbidden")
    refused(bob.delete(f"{MINE}/secret?history=forget"), 403, "forbidden")
    refused(reader.delete("/agents/reader/kv/secret?history=forget"), 403, "forbidden")
    assert Revision.objects.filter(item__key="secret").count() == 3, "nothing happened"
    carol.put(f"{MINE}/secret", {"value": "overwritten"})
    assert alice.delete(f"{MINE}/secret?history=forget").json()["forgotten"] == 4, "it is alice's own place"
    bob.put(f"{BOARD}/plan", {"value": SECRET})
    carol.put(f"{BOARD}/plan", {"value": "mine"})
    for one in (bob, carol):
        refused(one.delete(f"{BOARD}/plan?history=forget"), 403, "forbidden")
    carol.put(f"{BOARD}/hers", {"value": SECRET})
    assert carol.delete(f"{BOARD}/hers?history=forget").json()["forgotten"] == 1


def test_a_person_needs_the_right_to_purge_and_a_fresh_code(alice):
    filled(alice, BOARD)
    space = Space.objects.get(name="home")
    given = {"place": "boards/main", "key": "secret"}
    for role in ("viewer", "operator"):
        with pytest.raises(Forbidden):
            purging.purge_key(person(space, role), **given)
    with pytest.raises(StepUpRequired):
        purging.purge_key(person(space, fresh=False), **given)
    assert purging.purge_key(person(space), **given)["forgotten"] == 3
    verbs.set_key(shell(space), place="boards/main", key="secret", value=SECRET)
    assert purging.purge_key(shell(space), **given)["forgotten"] == 1


def test_what_the_database_file_still_holds_is_overwritten_at_most_every_ten_minutes_for_agents(alice):
    for number in range(3):
        alice.put(f"{MINE}/k{number}", {"value": SECRET})
        alice.delete(f"{MINE}/k{number}?history=forget")
    alice.delete(f"{MINE}/k1?history=forget")
    waiting = Job.objects.get(kind="keyvalue.scrub")
    assert timedelta(minutes=9) < waiting.due_at - clock.now() <= timedelta(minutes=10)
    alice.put(f"{MINE}/k", {"value": SECRET})
    purging.purge_key(shell(Space.objects.get(name="home")), place="agents/alice", key="k")
    worker.drain()
    assert [job.state for job in Job.objects.filter(kind="keyvalue.scrub").order_by("due_at")] == ["done", "queued"]
    assert not Item.objects.exclude(value=None).exists() and not IdempotencyKey.objects.exists()
