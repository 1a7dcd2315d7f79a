"""The policy of a store: who sets and changes it, and how agents are kept from getting rid of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accounts.principals import find_space, shell
from accounts.tokens import authenticate
from fluxcore.errors import Forbidden, StepUpRequired
from memory.artifacts import stores
from memory.artifacts.models import Store
from tests.rest.routes import refused

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


@pytest.fixture
def owner(alice):
    return replace(shell(find_space("home")), kind="user", name="ann", role="owner", fresh=True)


def test_the_policy_is_of_the_creator_and_opening_does_not_change_it(alice):
    alice.post("/stores", {"key": "kept", "read_only_prefixes": ["memory"], "keep_versions": False})
    opened = alice.put(
        "/stores", {"key": "kept", "read_only_prefixes": [], "keep_versions": True, "audit": False}
    ).json()
    assert (opened["read_only_prefixes"], opened["keep_versions"], opened["audit"]) == (["memory"], False, True)


def test_owners_change_the_policy(alice, owner):
    for person in (owner, shell(find_space("home"))):
        stores.change_policy(person, store="notes", keep_versions=False, max_versions=1)
        facts = alice.get("/stores/notes").json()
        assert (facts["keep_versions"], facts["max_versions"]) == (False, 1)
        stores.change_policy(person, store="notes", keep_versions=True, without=["max_versions"])
        facts = alice.get("/stores/notes").json()
        assert (facts["keep_versions"], facts["max_versions"]) == (True, None)


def test_nobody_else_changes_the_policy(alice, owner):
    """People of other roles, the agent that created the store, and an owner without a fresh code."""
    agent = authenticate(alice.token)
    assert agent.actor == Store.objects.get().created_by
    for other in (*(replace(owner, role=role) for role in ("operator", "viewer")), agent):
        with pytest.raises(Forbidden) as refusal:
            stores.change_policy(other, store="notes", read_only_prefixes=["rules"])
        assert refusal.value.details["missing"] == "policy"
    with pytest.raises(StepUpRequired):
        stores.change_policy(replace(owner, fresh=False), store="notes", read_only_prefixes=["rules"])
    assert Store.objects.get().read_only == ""


def test_agents_cannot_shed_read_only_prefixes(alice, owner):
    """Neither by deleting the store and creating it again, nor by restoring an earlier store of that key."""
    assert alice.delete("/stores/notes").json()["deleted"]  # an earlier store, which protects nothing
    earlier = Store.objects.get().uuid
    alice.post("/stores", {"key": "notes", "read_only_prefixes": ["rules"]})
    alice.write("plan.md", "x")
    refused(alice.write("rules/a.md", "x"), 403, "read_only")
    assert refused(alice.delete("/stores/notes"), 403, "read_only")["read_only_prefixes"] == ["rules"]
    assert refused(alice.post(f"/stores/{earlier}/undelete", {}), 409, "already_exists")
    assert alice.put("/stores", {"key": "notes"}).json()["read_only_prefixes"] == ["rules"]
    # A prefix that an owner adds later binds the creator as well.
    alice.post("/stores", {"key": "later"})
    stores.change_policy(owner, store="later", read_only_prefixes=["rules"])
    refused(alice.delete("/stores/later"), 403, "read_only")
    assert stores.delete_store(owner, store="notes")["deleted"], "people delete any store"
    assert alice.post("/stores/notes/undelete", {}).json()["read_only_prefixes"] == ["rules"]
