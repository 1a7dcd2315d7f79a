"""Audit pages of the admin: names instead of digests, status of chains, verification, export."""

from __future__ import annotations

import asyncio
import json

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from accounts import audit
from accounts.admin import audit as chain_page
from accounts.audit import chain_status, checkpoints
from accounts.models import AuditEntry
from tests.admin.conftest import list_of, words
from tests.dashboard.conftest import post

CHAINS = "/admin/accounts/auditentry/chains/"
EXPORT = "/admin/accounts/auditentry/export/"


@pytest.fixture(autouse=True)
def _nothing_known():
    chain_status._verified.clear()
    yield
    chain_status._verified.clear()


def exported(answer):
    return [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]


def hexes(house):
    return {name: house.row("accounts.space", name).uuid.hex for name in ("home", "office")}


def test_entries_name_the_space_and_not_its_digest(house):
    text = words(house.client("administrator").get(list_of("accounts.auditentry")))
    assert "home" in text and "the instance" in text and hexes(house)["home"] not in text


@pytest.mark.parametrize("role", ["viewer", "owner"])
def test_members_see_their_spaces_chain_and_administrators_all(house, own_home, role):
    mine = words(house.client(role).get(CHAINS))
    assert "home" in mine and "office" not in mine and "the instance" not in mine
    all_of_them = words(house.client("administrator").get(CHAINS))
    assert "home" in all_of_them and "office" in all_of_them and "the instance" in all_of_them


def test_it_says_how_old_the_checkpoint_is_and_what_came_after(house, own_home):
    client = house.client("administrator")
    assert "none yet" in words(client.get(CHAINS))
    checkpoints.make_checkpoint()
    assert "up to date" in words(client.get(CHAINS))
    post(client, house.address("accounts.agent", act="stop"), reason="one more entry")
    assert "newer" in words(client.get(CHAINS))


def test_a_sound_chain_is_verified_with_a_click(house, own_home):
    checkpoints.make_checkpoint()
    for role, chains in (("viewer", [hexes(house)["home"]]), ("administrator", ["", "instance"])):
        for chain in chains:
            answer = post(house.client(role), CHAINS, chain=chain)
            assert answer.status_code == 200 and "intact" in words(answer) and "broken" not in words(answer)


@pytest.mark.parametrize("harm", ["edited", "removed", "cut off"])
def test_a_broken_chain_is_named_and_the_index_remembers(house, own_home, harm):
    checkpoints.make_checkpoint()
    mine = AuditEntry.objects.filter(chain=hexes(house)["home"])
    last = mine.order_by("-seq")[0]
    if harm == "edited":
        mine.filter(seq=2).update(reason="nothing happened")
    elif harm == "removed":
        mine.filter(seq=2).delete()
    else:
        last.delete()
    client = house.client("administrator")
    assert "failed its last" not in words(client.get("/admin/"))
    answer = post(client, CHAINS, chain="")
    assert "broken" in words(answer) and f"entry {last.seq if harm == 'cut off' else 2}" in words(answer)
    assert "1 audit chain failed its last verification" in words(client.get("/admin/"))


def test_nobody_verifies_or_exports_a_chain_they_may_not_read(house, own_home):
    client = house.client("owner")
    for chain in (hexes(house)["office"], "instance", "0" * 32, "\0", "x" * 9000):
        assert post(client, CHAINS, chain=chain).status_code == 404
        assert client.get(EXPORT, {"chain": chain}).status_code == 404
    assert client.get(f"{CHAINS}?chain=instance").status_code == 200


def test_chains_that_are_too_long_for_a_page_are_for_the_shell(house, own_home, monkeypatch):
    monkeypatch.setattr(chain_status, "MOST_ENTRIES", 3)
    answer = post(house.client("administrator"), CHAINS, chain="")
    assert answer.status_code == 413 and "flux_audit verify" in words(answer)


def test_one_verification_at_a_time(house, own_home):
    with chain_status._turn:
        answer = post(house.client("viewer"), CHAINS, chain=hexes(house)["home"])
    assert answer.status_code == 503 and "Another verification" in words(answer)


def test_an_export_holds_the_entries_as_they_are_hashed_of_the_chains_one_may_read(house):
    everything = list(audit.export(hexes(house)["home"]))
    answer = house.client("viewer").get(EXPORT)
    assert answer["Content-Disposition"] == 'attachment; filename="audit.jsonl"'
    assert exported(answer) == everything
    assert {entry["chain"] for entry in exported(house.client("administrator").get(EXPORT))} == {
        "instance",
        *hexes(house).values(),
    }
    one = house.client("administrator").get(EXPORT, {"chain": hexes(house)["office"]})
    assert {entry["chain"] for entry in exported(one)} == {hexes(house)["office"]}


@pytest.mark.django_db(transaction=True)
def test_the_asgi_door_streams_the_same_lines_in_pieces(make_token, monkeypatch):
    make_token()
    monkeypatch.setattr(chain_page, "_CHUNK", 2)
    chains = audit.chains()
    plain = list(chain_page._lines(chains))

    async def gathered():
        found = [piece async for piece in chain_page._lines_async(chains)]
        await sync_to_async(connections.close_all)()  # as the end of a request does
        return found

    assert asyncio.run(gathered()) == plain and len(plain) > 1
    assert sum(piece.count("\n") for piece in plain) == AuditEntry.objects.count()


@pytest.mark.django_db(transaction=True)
def test_an_export_ends_even_if_somebody_numbered_entries_from_zero(make_token, monkeypatch):
    make_token()
    AuditEntry.objects.filter(chain="instance").delete()
    for seq in (-1, 0, 1):
        AuditEntry.objects.create(
            chain="instance",
            seq=seq,
            at="2026-01-01T00:00:00Z",
            actor="x",
            action="x",
            object="",
            outcome="done",
            prev="",
            hash="",
        )
    monkeypatch.setattr(chain_page, "_CHUNK", 1)
    assert [json.loads(line)["seq"] for line in chain_page._lines(["instance"])] == [-1, 0, 1]
