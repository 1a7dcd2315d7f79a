"""Audit chain: every change is detected, checked here without the code that wrote the chain."""

from __future__ import annotations

import ast
import json
from collections import Counter

import pytest

from accounts import agents, audit, tokens
from accounts.models import AuditEntry
from accounts.principals import shell
from fluxcore.errors import Forbidden
from fluxcore.models import Event
from tests.accounts.audit_chains import CHAIN, OTHER, change, edit, hash_of, remove, renumber, write
from tests.core.threads import together
from tests.packaging.project_files import PACKAGES, ROOT

pytestmark = pytest.mark.django_db


def recomputed(chain=CHAIN) -> list[str]:
    """What a stranger would compute from the export, each from the hash it computed before."""
    prev, found = "0" * 64, []
    for entry in audit.export(chain):
        prev = hash_of({**entry, "prev": prev})
        found.append(prev)
    return found


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
    assert audit.verify(OTHER) == audit.ChainVerdict(OTHER, 0, audit.GENESIS)


@pytest.mark.parametrize("position", [1, 6, 12])
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("at", "2020-01-01 00:00:00+00:00"),
        ("actor", "agent:b"),
        ("action", "test.other"),
        ("object", ""),
        ("outcome", "refused"),
        ("reason", "u"),
        ("details", '{"a":null,"n":99}'),
        ("details", "{}"),
        ("prev", "f" * 64),
        ("hash", "f" * 64),
    ],
)
def test_an_edited_field_is_found_where_it_is(column, value, position):
    write(12)
    edit(column, value, position)
    verdict = audit.verify(CHAIN)
    assert (verdict.sound, verdict.broken_at, verdict.entries) == (False, position, position - 1)


@pytest.mark.parametrize("position", [1, 6, 11])
def test_an_entry_moved_to_another_chain_breaks_both(position):
    write(12)
    edit("chain", OTHER, position)
    assert audit.verify(CHAIN).broken_at == position
    assert audit.verify(OTHER).broken_at == 1


@pytest.mark.parametrize("removed", [[1], [6], [1, 2, 3], [5, 6, 7]])
def test_a_removed_entry_is_missed(removed):
    write(12)
    for position in removed:
        remove(position)
    verdict = audit.verify(CHAIN)
    assert verdict.broken_at == removed[0]
    assert "missing" in verdict.problem


def test_a_removed_entry_is_missed_when_the_rest_is_renumbered():
    write(12)
    remove(4)
    for position in range(5, 13):
        renumber(position, position - 1)
    assert audit.verify(CHAIN).broken_at == 4


def test_swapped_entries_are_found_at_the_first():
    write(12)
    for old, new in ((4, 1000), (5, 4), (1000, 5)):
        renumber(old, new)
    assert audit.verify(CHAIN).broken_at == 4


@pytest.mark.parametrize("position", [0, 1, 7])
def test_an_inserted_entry_is_found(position):
    write(12)
    for old in range(12, position, -1):
        renumber(old, old + 1)
    columns = "chain, at, actor, action, object, outcome, reason, details, prev, hash"
    change(
        f"INSERT INTO {{table}} (seq, {columns}) SELECT %s, {columns} FROM {{table}} WHERE chain = %s AND seq = %s",
        position + 1,
        CHAIN,
        position if position else 2,
    )
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
    remove(21 - cut, 20)
    assert audit.verify(CHAIN).sound  # the chain alone cannot know
    verdict = audit.verify(CHAIN, known={known.entries: known.head})
    assert verdict.broken_at == 21 - cut


def test_a_history_written_anew_is_seen_with_an_earlier_checkpoint():
    write(20)
    known = audit.verify(CHAIN)
    remove(11, 20)
    write(15, start=500)
    assert audit.verify(CHAIN).sound
    assert audit.verify(CHAIN, known={known.entries: known.head}).broken_at == 20


def test_a_checkpoint_holds_while_the_chain_grows():
    write(5)
    known = audit.verify(CHAIN)
    write(5, start=5)
    assert audit.verify(CHAIN, known={known.entries: known.head}).sound


def test_twenty_sound_chains_raise_no_alarm():
    for number in range(20):
        write(number, chain=f"{number:032}")
    assert [audit.verify(chain).sound for chain in audit.chains()] == [True] * 19


def test_chains_do_not_mix():
    write(3)
    write(2, chain=OTHER)
    write(2, start=3)
    assert audit.chains() == [CHAIN, OTHER]
    assert [audit.verify(chain).entries for chain in audit.chains()] == [5, 2]


def test_one_write_may_reach_two_chains():
    agents.create_space(shell(), name="home")
    agents.create_agent(shell(), space="home", name="alice", capabilities=[])
    assert len(audit.chains()) == 2
    assert all(audit.verify(chain).sound for chain in audit.chains())


@pytest.mark.django_db(transaction=True)
def test_sixteen_writers_leave_no_gap_in_five_thousand_entries():
    """In turns of 1 to 39 entries, two thirds of them on one chain."""
    found = together(16, lambda number: [write(1 + 2 * turn, chain=CHAIN if turn % 3 else OTHER) for turn in range(20)])
    assert found == [[None] * 20] * 16
    lengths = {chain: AuditEntry.objects.filter(chain=chain).count() for chain in (CHAIN, OTHER)}
    assert sum(lengths.values()) == 16 * 400 > 5000
    for chain, length in lengths.items():
        verdict = audit.verify(chain)
        assert (verdict.sound, verdict.entries) == (True, length)
        assert [entry["seq"] for entry in audit.export(chain)] == list(range(1, length + 1))


def test_the_tail_shows_the_newest_first_and_can_be_narrowed():
    write(5)
    write(2, chain=OTHER)
    agents.create_space(shell(), name="home")
    assert [entry["seq"] for entry in audit.tail(chain=CHAIN, limit=2)] == [5, 4]
    assert len(audit.tail(actor="agent:a", limit=100)) == 7
    assert audit.tail(limit=1)[0]["action"] == "spaces.create"
    assert len(audit.tail()) == 8


def test_every_chain_is_found_with_its_newest_entry_in_one_statement(django_assert_num_queries):
    assert audit.heads() == {}
    for number in range(30):
        write(number + 1, chain=f"{number:032}")
    with django_assert_num_queries(1):
        found = audit.heads()
    assert [(chain, head.seq) for chain, head in found.items()] == [(f"{n:032}", n + 1) for n in range(30)]
    assert all(audit.verify(chain).head == head.hash for chain, head in found.items())


# What is on the chain ------------------------------------------------------------------------------------------------

CANARY = "swordfish-4711"


def test_no_memory_text_is_on_the_chain(api, as_agent, make_token):
    """However a text is stored, repeated or refused, the chain has its digest at most."""
    low = as_agent(make_token("low", ceiling="ai_inferred"))
    reader = as_agent(make_token("reader", capabilities=("grains.read",)))
    content = {"content": f"The launch code is {CANARY}", "provenance": "user_stated"}
    batch = {"items": [content, content, {**content, "provenance": CANARY}, {"content": CANARY * 9000}, {CANARY: 1}]}
    for who in (api, low, reader):
        for path, body in (("/store", content), ("/store", {**content, "provenance": CANARY}), ("/store/batch", batch)):
            for key in ("", "k1"):
                who.post(path, body, headers={"Idempotency-Key": key} if key else {})
                who.post(path, body, headers={"Idempotency-Key": key} if key else {})
    found = Counter(AuditEntry.objects.filter(action__startswith="grains.").values_list("action", "outcome"))
    assert all(
        found[action, outcome] for action in ("grains.store", "grains.store_batch") for outcome in ("done", "refused")
    )
    assert CANARY not in json.dumps([list(audit.export(chain)) for chain in audit.chains()])
    assert CANARY not in str(list(Event.objects.values()))


@pytest.mark.either_database
def test_no_verb_records_what_can_be_erased_or_must_stay_secret():
    """By the names of what verbs put on the chain: an entry stays for ever."""
    never = {"content", "text", "value", "body", "secret", "token", "totp_key", "question", "query"}
    found = []
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "record":
                    found += [f"{path.name}: {word.arg}" for word in node.keywords if word.arg in never]
    assert found == []


@pytest.mark.either_database
def test_a_thousand_operations_are_each_on_the_chain_once(principal, as_agent, make_token):
    """700 that were done and 300 that were refused, of every kind an agent and an operator have."""
    from memory.grains import store

    make_token("reader", capabilities=("grains.read",))
    reader, low = (
        tokens.authenticate(make_token("other", capabilities=())),
        tokens.authenticate(make_token("low", ceiling="ai_inferred")),
    )
    before = {entry["hash"] for chain in audit.chains() for entry in audit.export(chain)}
    wanted = Counter()
    stored = []

    def tried(actor, action, outcome, call, *args, **kwargs):
        wanted[actor.actor, action, outcome] += 1
        try:
            answer = call(actor, *args, **kwargs)
        except Forbidden:
            assert outcome == "refused"
            return None
        assert outcome == "done"
        return answer

    for number in range(100):
        stored.append(tried(principal, "grains.store", "done", store.store, content=f"fact {number}")["grain_id"])
        tried(principal, "grains.store", "done", store.store, content=f"fact {number}")
        stored += tried(
            principal, "grains.store_batch", "done", store.store_batch, items=[{"content": f"one of {number}"}]
        )["grain_ids"]
        tried(
            shell(), "agents.switch", "done", agents.switch_agent, space="home", name="reader", active=bool(number % 2)
        )
        tried(shell(), "agents.apply", "done", agents.apply_agent, space="home", name="reader", capabilities=[])
        tried(shell(), "spaces.create", "done", agents.create_space, name=f"s{number}")
        minted = tried(shell(), "tokens.mint", "done", tokens.mint, space="home", agent="reader")
        stored.append(minted["id"])
        tried(reader, "grains.store", "refused", store.store, content="no")
        tried(low, "grains.store", "refused", store.store, content="no", provenance="user_stated")
        tried(principal, "tokens.mint", "refused", tokens.mint, space="home", agent="reader")
    new = [entry for chain in audit.chains() for entry in audit.export(chain) if entry["hash"] not in before]
    assert len(new) == sum(wanted.values()) == 1000
    assert sum(count for (*_, outcome), count in wanted.items() if outcome == "refused") == 300
    assert Counter((entry["actor"], entry["action"], entry["outcome"]) for entry in new) == wanted
    assert {entry["object"] for entry in new} >= set(stored)
    assert all(entry["at"].endswith("Z") for entry in new)
    assert all(audit.verify(chain).sound for chain in audit.chains())
