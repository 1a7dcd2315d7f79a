"""Who proposes, who sees proposals, and who decides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accounts import tokens
from accounts.capabilities import OPERATIONS
from accounts.principals import find_space, shell
from accounts.trust import REACH
from fluxcore.errors import Forbidden, NotFound
from memory.artifacts import files, proposals, stores
from memory.artifacts.contents import NewContent
from memory.artifacts.states import read_state
from memory.review import handlers
from memory.review.models import ReviewItem
from tests.rest.routes import refused

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


def test_proposing_takes_its_capability_for_the_target(agent_of):
    carl = agent_of("carl", "artifacts.propose:handbook/rules/**", trust="sandboxed")
    assert carl.propose("rules/a.md", "x").status_code == 200
    outside = refused(carl.propose("plans/a.md", "x"), 403, "forbidden")
    assert outside["missing"] == "artifacts.write"
    elsewhere = refused(carl.write("proposals/rules/a.md", "x", "other"), 403, "forbidden")
    assert elsewhere["missing"].startswith("artifacts.write")
    nothing = agent_of("nothing", *sorted(OPERATIONS - {"artifacts.propose", "artifacts.write"}))
    assert refused(nothing.propose("rules/a.md", "x"), 403, "forbidden")
    # It neither reads what is there nor creates or deletes stores with it.
    assert refused(carl.file("proposals/rules/a.md", "handbook"), 403, "forbidden")
    assert refused(carl.write("proposals/rules/a.md", "x", "new", create="true"), 422, "invalid")
    assert refused(carl.delete("/stores/handbook"), 403, "forbidden")


def test_a_staging_prefix_that_changes_during_a_write_widens_nothing(agent_of, handbook):
    carl = agent_of("carl", "artifacts.propose:handbook/rules/**", trust="sandboxed")
    who = tokens.authenticate(carl.token)
    place, _ = read_state(who, "handbook", "")
    proposals.check_may_propose(who, place, "proposals/rules/a.md")
    with pytest.raises(Forbidden, match=r"artifacts\.propose:handbook/a\.md"):  # as the write finds it
        proposals.check_may_propose(who, replace(place, staging="proposals/rules"), "proposals/rules/a.md")
    with pytest.raises(Forbidden, match=r"artifacts\.write:handbook/proposals/rules/a\.md"):
        proposals.check_may_propose(who, replace(place, staging=""), "proposals/rules/a.md")


def test_one_proposer_does_not_change_what_another_wrote(bob, agent_of):
    carl = agent_of("carl", "artifacts.propose:*", trust="sandboxed")
    item = bob.propose("rules/a.md", "bob").json()["proposal"]
    staged = "/stores/handbook/files/proposals/rules/a.md"
    for answer in (
        carl.propose("rules/a.md", "carl"),
        carl.append("proposals/rules/a.md", "carl", "handbook"),
        carl.delete(staged),
    ):
        assert refused(answer, 409, "held")["path"] == "proposals/rules/a.md"
    writer = agent_of("writer", "artifacts.write", "artifacts.review")
    assert writer.append("proposals/rules/a.md", " and writer", "handbook").json()["proposal"] == item
    assert writer.item(item)["authors"] == ["agent:bob", "agent:writer"]
    assert refused(bob.propose("rules/a.md", "bob"), 409, "held"), "it is not bob's alone any more"


def test_agents_decide_with_artifacts_review_alone_and_never_their_own(bob, rita, agent_of):
    item = bob.propose("rules/a.md", "better\n").json()["proposal"]
    seen = bob.item(item)["seen"]
    everything_else = agent_of("busy", *sorted(OPERATIONS - {"artifacts.review"}))
    for agent in (bob, everything_else):
        for answer in (agent.accept(item, seen=seen), agent.deny(item)):
            assert refused(answer, 403, "forbidden")["missing"].startswith("artifacts.review")
    elsewhere = agent_of("elsewhere", "artifacts.review:handbook/plans/**", "artifacts.review:other/**")
    assert refused(elsewhere.deny(item), 403, "forbidden")["missing"] == "artifacts.review:handbook/rules/a.md"
    assert refused(rita.accept("0" * 32, seen=seen), 404, "not_found")
    assert rita.accept(item).json()["state"] == "accepted"

    both = agent_of("both", "artifacts.write", "artifacts.review")
    own = both.propose("rules/own.md", "mine\n").json()["proposal"]
    for answer in (both.accept(own), both.deny(own)):
        assert refused(answer, 403, "own_proposal")["item"] == own
    bobs = bob.propose("rules/c.md", "c\n").json()["proposal"]
    seen = both.item(bobs)["seen"]
    both.append("proposals/rules/c.md", "d\n", "handbook")
    rita.append("proposals/rules/c.md", "e\n", "handbook")  # refused: it may not write
    assert refused(both.accept(bobs, seen=seen), 403, "own_proposal"), "a part of it is its own"
    assert ReviewItem.objects.filter(state="open").count() == 2


def test_review_is_no_part_of_the_lower_trust_levels_and_viewers_do_not_decide(bob, ann):
    assert [level for level, reach in REACH.items() if "artifacts.review" in reach] == ["privileged"]
    item = bob.propose("rules/a.md", "better\n").json()
    viewer = replace(ann, role="viewer")
    seen = handlers.get_review(viewer, item=item["proposal"])["seen"]
    with pytest.raises(Forbidden):
        handlers.accept_review(viewer, item=item["proposal"], seen=seen)
    nobody = replace(ann, role="")
    for read in (handlers.list_reviews, lambda who: handlers.get_review(who, item=item["proposal"])):
        with pytest.raises(Forbidden):
            read(nobody)
    assert handlers.deny_review(replace(ann, role="owner"), item=item["proposal"], reason="no")["state"] == "denied"


def test_agents_see_their_own_and_what_they_may_read_or_review(bob, rita, agent_of, handbook):
    item = bob.propose("rules/a.md", "better\n").json()["proposal"]
    carl = agent_of("carl", "artifacts.propose:*", trust="sandboxed")
    target_alone = agent_of("target", "artifacts.read:handbook/rules/**")
    both = agent_of("reader", "artifacts.read:handbook/rules/**", "artifacts.read:handbook/proposals/**")
    for agent in (carl, target_alone):
        assert agent.items() == [] and refused(agent.get(f"/reviews/{item}"), 404, "not_found")
    for agent in (rita, both):
        assert [one["item"] for one in agent.items()] == [item] and agent.item(item)["change"]["diff"]
        assert agent.items(mine="true") == []
    own = carl.propose("rules/own.md", "mine\n").json()["proposal"]
    assert [one["item"] for one in carl.items()] == [own]
    assert "change" not in carl.item(own), "the difference would show it the rules, which it may not read"
    assert {one["item"] for one in bob.items()} == {item, own}
    assert [one["item"] for one in bob.items(mine="true")] == [item]


def test_pages_of_the_list(bob, rita):
    made = [bob.propose(f"rules/{number}.md", "x").json()["proposal"] for number in range(5)]
    bob.propose("plans/a.md", "x")
    found, cursor = [], None
    while True:
        page = rita.get("/reviews", limit=2, **({"cursor": cursor} if cursor else {})).json()
        found += [one["item"] for one in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == made[::-1]
    assert rita.items(kind="other") == []
    assert refused(rita.get("/reviews", state="lost"), 422, "invalid")["field"] == "state"


def test_spaces_are_separate(bob, make_token):
    item = bob.propose("rules/a.md", "better\n").json()["proposal"]
    seen = bob.item(item)["seen"]
    make_token("eve", space="office", capabilities=("artifacts.review",))
    office = shell(find_space("office"))
    eve = type(bob)(make_token("eve", space="office", capabilities=("artifacts.read", "artifacts.review")))
    assert eve.items(state="any") == []
    assert refused(eve.get(f"/reviews/{item}"), 404, "not_found")
    assert refused(eve.accept(item, seen=seen), 404, "not_found") and refused(eve.deny(item), 404, "not_found")
    with pytest.raises(NotFound):
        handlers.deny_review(office, item=item, reason="no")
    stores.create_store(office, key="handbook", staging_prefix="proposals")
    files.put_file(office, store="handbook", path="proposals/rules/a.md", content=NewContent.of(b"x"))
    assert len(eve.items()) == len(bob.items()) == 1
