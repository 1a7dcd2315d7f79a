"""Index of the admin: tiles that need attention, and the first steps of a new instance."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts import agents, tokens
from accounts.models import Authenticator, GrantRequest, Token
from accounts.principals import shell
from fluxcore import clock
from fluxcore.models import Job
from tests.admin.conftest import list_of, words


def test_an_empty_instance_teaches_the_way_in(ada, own_home):
    client = ada.sign_in()
    text = words(client.get("/admin/"))
    assert "Nothing needs your attention" in text and "Getting started" in text and " done " not in text
    agents.create_space(shell(), name="home")
    agents.create_agent(shell(), space="home", name="alice", capabilities=["grains.read"])
    minted = tokens.mint(shell(), space="home", agent="alice")
    text = words(client.get("/admin/"))
    assert text.count(" done ") == 3 and "1 agent has never sent a request" in text
    tokens.authenticate(minted["token"])
    text = words(client.get("/admin/"))
    assert "Getting started" not in text and "never sent" not in text


@pytest.mark.parametrize("role", ["operator", "owner", "administrator"])
def test_the_tiles_count_what_one_can_do_something_about_and_lead_there(house, own_home, role):
    Token.objects.update(expires_at=clock.now() + timedelta(days=2))
    client = house.client(role)
    page = client.get("/admin/").content.decode()
    text = words(client.get("/admin/"))
    both = role == "administrator"
    for tile in {
        "operator": ["1 grant request waits", "1 job failed", "1 removed memory was stored again this week"],
        "owner": [
            "1 grant request waits",
            "1 job failed",
            "1 token expires within a week",
            "1 agent has never sent a request",
        ],
        "administrator": [
            "2 grant requests wait",
            "2 jobs failed",
            "2 tokens expire within a week",
            "2 agents have never sent a request",
            "1 sign-in is locked",
            "1 address had failed sign-ins",
            "2 removed memories were stored again this week",
        ],
    }[role]:
        assert tile in text, tile
    assert ("is locked" in text) == both and ("failed sign-ins in" in text) == both
    for found in client.get("/admin/").context["tiles"]:
        assert found.link in page.replace("&amp;", "&")
        assert client.get(found.link).status_code == 200, found.link


def test_viewers_have_nothing_to_do(house, own_home):
    assert "Nothing needs your attention" in words(house.client("viewer").get("/admin/"))


def test_a_tile_goes_when_its_reason_does(house, own_home):
    client = house.client("administrator")
    Job.objects.update(state="done")
    GrantRequest.objects.update(state="declined")
    Authenticator.objects.filter(user__username="olaf").delete()
    text = words(client.get("/admin/"))
    assert "jobs failed" not in text and "wait for an answer" not in text and "1 person has no second factor" in text
    assert "olaf" in words(client.get(f"{list_of('accounts.user')}?factor=none&state=active"))


def test_a_log_of_checkpoints_that_is_gone_is_said_aloud(house, own_home):
    from accounts.audit import checkpoints

    client = house.client("administrator")
    checkpoints.make_checkpoint()
    assert "checkpoints" not in words(client.get("/admin/")).split("Audit")[0]
    own_home.checkpoints.unlink()
    assert "1 warning about audit checkpoints" in words(client.get("/admin/"))


def test_names_that_look_alike_are_marked(house):
    from accounts.models import User

    User.objects.create(username="оlaf", is_staff=True)  # noqa: RUF001  the first letter is Cyrillic
    agents.create_agent(shell(), space="home", name="a1ice", capabilities=[])
    agents.create_space(shell(), name="h0me")
    client = house.client("administrator")
    for page, marked in (("accounts.user", 2), ("accounts.agent", 2), ("accounts.space", 2)):
        assert client.get(list_of(page)).content.decode().count("similar name") == marked, page
    assert "CYRILLIC SMALL LETTER O" in client.get(list_of("accounts.user")).content.decode()
    assert "Check that this is the one you want" in words(client.get(house.address("accounts.agent")))
    assert "similar name" not in house.client("viewer").get(list_of("accounts.space")).content.decode()
