"""The audit chain: links that betray any later change, checked here without the code that wrote them."""

from __future__ import annotations

import hashlib
import json

import pytest
from django.db import connection, transaction

from accounts import agents, audit
from accounts.capabilities import parsed
from accounts.models import AuditEntry
from accounts.principals import Principal, shell
from fluxcore import booth
from tests.core.threads import together

pytestmark = pytest.mark.django_db
CHAIN = "c" * 32
COLUMNS = ["chain", "seq", "at", "actor", "action", "object", "outcome", "reason", "details", "prev"]


def who(chain=CHAIN):
    return Principal(kind="agent", name="a", space=1, chain=chain, capabilities=parsed(()), ceiling="ai_stated")


def write(count, chain=CHAIN, start=0):
    def work():
        for number in range(start, start + count):
            audit.record(who(chain), "test.act", f"object {number}", reason="ü", details={"n": number, "a": None})

    booth.write(work)


def recomputed(chain=CHAIN) -> list[str]:
    """What a stranger would compute from the export: SHA-256 over canonical JSON of the fields in their order."""
    prev, found = "0" * 64, []
    for entry in audit.export(chain):
        text = json.dumps(
            [entry[name] if name != "prev" else prev for name in COLUMNS],
            sort_keys=True, separators=(",", ":"), ensure_ascii=False,
        )  # fmt: skip
        prev = hashlib.sha256(text.encode()).hexdigest()
        found.append(prev)
    return found


def change(sql, *values):
    """What somebody with the database in their hands would do."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.format(table=AuditEntry._meta.db_table), values)


def test_a_stranger_computes_the_same_hashes():
    write(3)
    write(4, start=3)
    exported = list(audit.export(CHAIN))
    assert [entry["seq"] for entry in exported] == list(range(1, 8))
    assert [entry["hash"] for entry in exported] == recomputed()
    assert [entry["prev"] for entry in exported] == ["0" * 64, *recomputed()[:-1]]
    assert all(entry["at"].endswith("Z") for entry in exported)


def test_a_sound_chain_is_found_sound():
    write(25)
    verdict = audit.verify(CHAIN)
    assert (verdict.sound, verdict.entries, verdict.head) == (True, 25, recomputed()[-1])
    assert audit.verify("d" * 32) == audit.Verdict("d" * 32, 0, audit.GENESIS)


@pytest.mark.parametrize("position", [1, 6, 12])
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("at", "2020-01-01 00:00:00+00:00"), ("actor", "agent:b"), ("action", "test.other"), ("object", ""),
        ("outcome", "refused"), ("reason", "u"), ("details", '{"a":null,"n":99}'), ("details", "{}"),
        ("prev", "f" * 64), ("hash", "f" * 64),
    ],
)  # fmt: skip
def test_an_edited_field_is_found_where_it_is(column, value, position):
    write(12)
    change(f"UPDATE {{table}} SET {column} = %s WHERE chain = %s AND seq = %s", value, CHAIN, position)
    verdict = audit.verify(CHAIN)
    assert (verdict.sound, verdict.broken_at, verdict.entries) == (False, position, position - 1)


@pytest.mark.parametrize("position", [1, 6, 11])
def test_an_entry_moved_to_another_chain_breaks_both(position):
    write(12)
    change("UPDATE {table} SET chain = %s WHERE chain = %s AND seq = %s", "d" * 32, CHAIN, position)
    assert audit.verify(CHAIN).broken_at == position
    assert audit.verify("d" * 32).broken_at == 1


@pytest.mark.parametrize("removed", [[1], [6], [1, 2, 3], [5, 6, 7]])
def test_a_removed_entry_is_missed(removed):
    write(12)
    for position in removed:
        change("DELETE FROM {table} WHERE chain = %s AND seq = %s", CHAIN, position)
    verdict = audit.verify(CHAIN)
    assert verdict.broken_at == removed[0]
    assert "missing" in verdict.problem


def test_a_removed_entry_is_missed_when_the_rest_is_renumbered():
    write(12)
    change("DELETE FROM {table} WHERE chain = %s AND seq = 4", CHAIN)
    for position in range(5, 13):
        change("UPDATE {table} SET seq = %s WHERE chain = %s AND seq = %s", position - 1, CHAIN, position)
    assert audit.verify(CHAIN).broken_at == 4


def test_swapped_entries_are_found_at_the_first():
    write(12)
    for old, new in ((4, 1000), (5, 4), (1000, 5)):
        change("UPDATE {table} SET seq = %s WHERE chain = %s AND seq = %s", new, CHAIN, old)
    assert audit.verify(CHAIN).broken_at == 4


@pytest.mark.parametrize("position", [0, 1, 7])
def test_an_inserted_entry_is_found(position):
    write(12)
    for old in range(12, position, -1):
        change("UPDATE {table} SET seq = %s WHERE chain = %s AND seq = %s", old + 1, CHAIN, old)
    columns = "chain, at, actor, action, object, outcome, reason, details, prev, hash"
    change(
        f"INSERT INTO {{table}} (seq, {columns}) SELECT %s, {columns} FROM {{table}} WHERE chain = %s AND seq = %s",
        position + 1, CHAIN, position if position else 2,
    )  # fmt: skip
    verdict = audit.verify(CHAIN)
    assert verdict.broken_at in (position + 1, position + 2)
    assert not verdict.sound


def test_an_entry_before_the_first_is_found():
    write(3)
    columns = "chain, at, actor, action, object, outcome, reason, details, prev, hash"
    change(
        f"INSERT INTO {{table}} (seq, {columns}) SELECT 0, {columns} FROM {{table}} WHERE chain = %s AND seq = 1", CHAIN
    )
    assert audit.verify(CHAIN).broken_at == 1


@pytest.mark.parametrize("cut", [1, 10])
def test_a_cut_tail_is_seen_with_an_earlier_checkpoint(cut):
    write(20)
    known = audit.verify(CHAIN)
    change("DELETE FROM {table} WHERE chain = %s AND seq > %s", CHAIN, 20 - cut)
    assert audit.verify(CHAIN).sound  # the chain alone cannot know
    verdict = audit.verify(CHAIN, checkpoint=(known.entries, known.head))
    assert verdict.broken_at == 21 - cut


def test_a_history_written_anew_is_seen_with_an_earlier_checkpoint():
    write(20)
    known = audit.verify(CHAIN)
    change("DELETE FROM {table} WHERE chain = %s AND seq > 10", CHAIN)
    write(15, start=500)
    assert audit.verify(CHAIN).sound
    assert audit.verify(CHAIN, checkpoint=(known.entries, known.head)).broken_at == 20


def test_a_checkpoint_holds_while_the_chain_grows():
    write(5)
    known = audit.verify(CHAIN)
    write(5, start=5)
    assert audit.verify(CHAIN, checkpoint=(known.entries, known.head)).sound


def test_twenty_sound_chains_raise_no_alarm():
    for number in range(20):
        write(number, chain=f"{number:032}")
    assert [audit.verify(chain).sound for chain in audit.chains()] == [True] * 19


def test_chains_do_not_mix():
    write(3)
    write(2, chain="d" * 32)
    write(2, start=3)
    assert audit.chains() == [CHAIN, "d" * 32]
    assert [audit.verify(chain).entries for chain in audit.chains()] == [5, 2]


def test_one_write_may_reach_two_chains():
    agents.create_space(shell(), name="home")
    agents.create_agent(shell(), space="home", name="alice", capabilities=[])
    assert len(audit.chains()) == 2
    assert all(audit.verify(chain).sound for chain in audit.chains())


@pytest.mark.django_db(transaction=True)
def test_sixteen_threads_leave_no_gap():
    found = together(16, lambda number: [write(2, chain=CHAIN if turn % 3 else "d" * 32) for turn in range(6)])
    assert found == [[None] * 6] * 16
    verdicts = [audit.verify(chain) for chain in audit.chains()]
    assert [(verdict.sound, verdict.entries) for verdict in verdicts] == [(True, 128), (True, 64)]


def test_the_tail_shows_the_newest_first_and_can_be_narrowed():
    write(5)
    write(2, chain="d" * 32)
    agents.create_space(shell(), name="home")
    assert [entry["seq"] for entry in audit.tail(chain=CHAIN, limit=2)] == [5, 4]
    assert len(audit.tail(actor="agent:a", limit=100)) == 7
    assert audit.tail(limit=1)[0]["action"] == "spaces.create"
    assert len(audit.tail()) == 8


def test_no_memory_text_is_on_the_chain(api):
    api.post("/store", {"content": "The launch code is swordfish", "provenance": "user_stated"})
    assert AuditEntry.objects.filter(action="grains.store").count() == 1
    assert "swordfish" not in str(list(AuditEntry.objects.values()))


def test_every_operation_is_on_the_chain_once(api, as_agent, make_token):
    """Stored, refused for lack of a capability, refused by the ceiling: each exactly once."""
    reader, low = (
        as_agent(make_token("reader", capabilities=("grains.read",))),
        as_agent(make_token("low", ceiling="ai_inferred")),
    )
    before = AuditEntry.objects.count()
    for number in range(30):
        assert api.post("/store", {"content": f"fact {number}"}).status_code == 200
        if number % 3 == 0:
            assert reader.post("/store", {"content": "no"}).status_code == 403
            assert low.post("/store", {"content": "no", "provenance": "user_stated"}).status_code == 403
    found = [
        (entry["actor"], entry["outcome"]) for entry in audit.tail(limit=1000)[: AuditEntry.objects.count() - before]
    ]
    assert found.count(("agent:alice", "done")) == 30
    assert found.count(("agent:reader", "refused")) == 10
    assert found.count(("agent:low", "refused")) == 10
    assert len(found) == 50
