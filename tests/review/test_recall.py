"""What is only proposed is not recalled; what was accepted is."""

from __future__ import annotations

import pytest

from fluxcore.work import worker
from memory.artifacts import stores
from memory.grains.models import Grain
from memory.review import handlers

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.storage]


def passages():
    worker.drain()
    return list(Grain.objects.filter(status="passage", valid_to=None).values_list("text", flat=True))


def test_a_proposal_is_recalled_when_it_is_accepted(agent_of, ann, handbook):
    bob = agent_of("bob", "artifacts.read", "artifacts.propose:*", "grains.read", trust="sandboxed")
    stores.change_policy(handbook, store="handbook", recallable=True)
    before = passages()
    item = bob.propose("rules/sow.md", "The beans are sown in March.\n").json()["proposal"]
    assert passages() == before
    handlers.accept_review(ann, item=item, seen=bob.item(item)["seen"])
    assert sorted(passages()) == sorted([*before, "The beans are sown in March."])
    # A folder that becomes the staging prefix later is not recalled any more.
    stores.change_policy(handbook, store="handbook", staging_prefix="elsewhere", read_only_prefixes=[])
    stores.change_policy(handbook, store="handbook", staging_prefix="rules")
    assert passages() == []
