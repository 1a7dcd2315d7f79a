"""Admin page "What capabilities allow"."""

from __future__ import annotations

import re

import pytest

from accounts import capability_preview
from accounts.models import Agent
from tests.admin.conftest import AdminSpaces, words
from tests.dashboard.conftest import post

PAGE = "/admin/capabilities/"


@pytest.fixture
def paths(monkeypatch):
    """A room that keeps named things, as later ones will."""
    monkeypatch.setattr(capability_preview, "_providers", dict(capability_preview._providers))

    @capability_preview.register_names("artifacts")
    def names(space, most):
        from accounts.models import Space

        return [f"{Space.objects.get(pk=space).name}/report-{number}.md" for number in range(2)][:most]


def reached(answer, operation: str) -> tuple[str, list[str], list[str]]:
    """Of one operation: how far it goes, the names it reaches, the ones it does not."""
    found = re.search(rf"<code>{operation}</code>.*?</tr>", answer.content.decode(), re.DOTALL).group()
    extent = re.search(r'class="badge[^"]*">([^<]*)<', found).group(1)
    chips = re.findall(r'class="chip (in|out)"[^>]*>([^<]*)<', found)
    return extent, [name for kind, name in chips if kind == "in"], [name for kind, name in chips if kind == "out"]


def test_capabilities_are_shown_on_names_that_exist_and_on_names_to_try(house, paths):
    answer = post(
        house.client("viewer"),
        PAGE,
        space="home",
        capabilities="artifacts.read:home/*\nartifacts.write\ngrains.read",
        names="home/deep/er.md\nelsewhere",
    )
    assert reached(answer, "artifacts.read") == (
        "some names",
        ["home/report-0.md", "home/report-1.md"],
        ["home/deep/er.md", "elsewhere"],
    )
    assert reached(answer, "artifacts.write")[0] == "everything" and len(reached(answer, "artifacts.write")[1]) == 4
    assert reached(answer, "artifacts.propose") == ("no", [], [])
    assert reached(answer, "grains.read") == ("everything", ["The secret of the home is under the mat"], [])


def test_a_room_without_names_says_so(house):
    answer = post(house.client("viewer"), PAGE, space="home", capabilities="memory.read:notes/*")
    assert "There are no names in memory yet. Enter names to test." in words(answer)


def test_as_an_agent_its_grants_count_and_its_trust_cuts(house):
    alice = Agent.objects.get(name="alice")
    Agent.objects.filter(pk=alice.pk).update(trust="sandboxed")
    answer = house.client("viewer").get(PAGE, {"agent": alice.pk})
    assert reached(answer, "grains.read")[0] == "everything"
    assert reached(answer, "grains.write")[0] == "no", "sandboxed agents never write grains"
    assert reached(answer, "bb.read")[0] == "some names", "it was granted"


def test_an_agent_whose_parent_is_stopped_can_do_nothing(house):
    from accounts import agents
    from accounts.principals import shell

    agents.create_agent(shell(), space="home", name="child", capabilities=["grains.read"], parent="alice")
    child = Agent.objects.get(name="child").pk
    assert reached(house.client("viewer").get(PAGE, {"agent": child}), "grains.read")[0] == "everything"
    agents.switch_agent(shell(), space="home", name="alice", active=False)
    assert reached(house.client("viewer").get(PAGE, {"agent": child}), "grains.read")[0] == "no"


def test_names_and_agents_of_another_space_are_out_of_sight(house, paths):
    bob = Agent.objects.get(name="bob")
    for answer in (
        house.client("owner").get(PAGE, {"agent": bob.pk}),
        post(house.client("owner"), PAGE, agent=str(bob.pk), capabilities="artifacts.read"),
        post(house.client("owner"), PAGE, space="office", capabilities="artifacts.read"),
    ):
        assert "bob" not in answer.content.decode() and "office/report" not in answer.content.decode()


def test_nonsense_is_named_beside_the_field(house):
    answer = post(house.client("viewer"), PAGE, space="home", capabilities="grains.fly")
    assert answer.status_code == 422 and "Unknown capability" in words(answer)


def before_changing(house: AdminSpaces, capabilities: str):
    where = house.address("accounts.agent", act="capabilities")
    return post(house.client("owner"), where, capabilities=capabilities, _preview="1")


def test_the_form_shows_what_would_be_and_changes_nothing(house, paths):
    known = Agent.objects.get(name="alice").capabilities
    answer = before_changing(house, "artifacts.read:home/*")
    assert reached(answer, "artifacts.read")[1] == ["home/report-0.md", "home/report-1.md"]
    assert "artifacts.read:home/*</textarea>" in answer.content.decode(), "what was typed is still there"
    assert "This field is required" not in words(answer)
    assert "Unknown capability" in words(before_changing(house, "grains.fly"))
    assert Agent.objects.get(name="alice").capabilities == known


def test_a_new_agent_can_be_previewed_too(house, paths):
    answer = post(
        house.client("owner"),
        "/admin/accounts/agent/add/",
        space="home",
        name="",
        capabilities="artifacts.read",
        _preview="1",
    )
    assert reached(answer, "artifacts.read")[1] == ["home/report-0.md", "home/report-1.md"]
    assert not Agent.objects.filter(name="").exists()
