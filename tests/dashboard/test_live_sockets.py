"""The people's live feed on a running instance: real sockets, closed within a second of whatever ends the right."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.concurrency.databases import database_with_tables
from tests.instances import Instance
from tests.live_feeds import SOON, handshake_refusal, next_event, open_feed, peoples_address, peoples_feed, wait_for_end
from tests.management_shell import Shell

_PEOPLE = """
import json
from accounts import agents
from accounts.principals import shell
from django.conf import settings
from tests.dashboard.conftest import Person
settings.PASSWORD_HASHERS = ["tests.hashers.CheapArgon2"]  # whom a socket belongs to is told by the cookie alone
agents.create_space(shell(), name="other")
made = {"ada": Person("ada")}
for name in ("bo", "cy", "di", "ed", "flo"):
    made[name] = Person(name, administrator=False, roles={"main": "viewer"})
name = settings.SESSION_COOKIE_NAME
print(json.dumps({who: f"{name}={person.sign_in().cookies[name].value}" for who, person in made.items()}))
"""
_ACT = """
import time
from accounts import own_account, people, roles
from accounts.models import Authenticator, Session, User
from accounts.principals import shell
me = User.objects.get(username={who!r})
{what}
print(time.time())
"""


class House:
    """An instance, the people in it with their cookies, and a shell."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.python = Shell(instance)
        self.cookies: dict[str, str] = self.python(_PEOPLE)

    def feed(self, who: str, space: str = "main") -> Any:
        return peoples_feed(self.instance, self.cookies[who], space)

    def refused(self, who: str, space: str = "main", **headers: str) -> int:
        given = {"Origin": self.instance.state["urls"]["people"], "Cookie": self.cookies[who], **headers}
        return handshake_refusal(peoples_address(self.instance, space), **given).status


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("sqlite", marks=pytest.mark.xdist_group("house-sqlite")),
        pytest.param(
            "postgres", marks=[pytest.mark.postgres, pytest.mark.proof, pytest.mark.xdist_group("house-postgres")]
        ),
    ],
)
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    environment = {"FLUX_LIVE_SOCKETS": "20", "FLUX_LIVE_SOCKETS_EACH": "50"}
    if request.param == "postgres":
        environment["DATABASE_URL"] = database_with_tables(request.getfixturevalue("postgres_url"))
    instance = Instance(tmp_path_factory.mktemp(f"house-{request.param}"), "house", **environment)
    try:
        instance.with_tables().start()
        house = House(instance)
        yield house
        house.python.end()
    finally:
        if instance.process is not None and instance.process.poll() is None:
            instance.stop()


def test_a_person_sees_what_an_agent_stores_in_the_space_they_look_at_and_nowhere_else(house: House) -> None:
    with house.feed("ada") as main, house.feed("bo") as same, house.feed("ada", "other") as other:
        grain = house.instance.call("POST", "/store", {"content": "The launch is on Friday"}).json()["grain_id"]
        for feed in (main, same):
            said = next_event(feed, "grain.stored")
            assert (said["subject"], said["actor"]) == (grain, "agent:assistant")
            assert "Friday" not in str(said)
        with pytest.raises(TimeoutError):
            other.recv(timeout=0.6)


def test_recalls_reach_people_once_and_whoever_comes_back_hears_what_they_missed(house: House) -> None:
    """Asked by eight at once, while one feed stays open and another breaks off and goes on from where it was."""

    def ask(number: int) -> str:
        answer = house.instance.call("POST", "/retrieve", {"query": f"swordfish {number}"})
        assert answer.status == 200, answer.body
        return str(answer.json()["trace_id"])

    def recalls(feed: Any, wanted: int) -> list[str]:
        found: list[str] = []
        while len(found) < wanted:
            said = next_event(feed, "grains.recalled")
            assert "swordfish" not in str(said), "what was asked is not told"
            found += [one["trace"] for one in said["data"]["recalls"]]
        return found

    with house.feed("ada") as steady:
        with house.feed("bo") as broken, ThreadPoolExecutor(8) as crowd:
            asked = list(crowd.map(ask, range(24)))
            last = next_event(broken, "grains.recalled")
        first = [one["trace"] for one in last["data"]["recalls"]]
        with ThreadPoolExecutor(8) as crowd:
            asked += crowd.map(ask, range(24, 40))
        everything = recalls(steady, 40)
        assert sorted(everything) == sorted(asked), "each once, and none missed"
        again = peoples_feed(house.instance, house.cookies["bo"], since=last["position"])
        with again:
            assert first + recalls(again, 40 - len(first)) == everything, "in the same order, from where it broke off"


@pytest.mark.parametrize(
    ("who", "what", "code"),
    [
        ("cy", "own_account.sign_out(roles.person_principal(me, fresh=True))", 4401),
        ("di", "people.switch(shell(), username='di', active=False)", 4401),
        ("ed", "people.set_role(shell(), username='ed', space='main', role='')", 4403),
        ("flo", "Authenticator.objects.filter(user=me).delete()", 4401),
    ],
    ids=["signed out", "shut out", "no longer a member", "no second factor"],
)
def test_a_socket_closes_soon_after_what_ends_its_right(house: House, who: str, what: str, code: int) -> None:
    with house.feed(who) as feed, house.feed("bo") as neighbour:
        done_at = house.python(_ACT.format(who=who, what=what))
        found, moment, said = wait_for_end(feed)
        assert (found, [one for one in said if not one["kind"].startswith("job.")]) == (code, [])
        assert moment - done_at < SOON
        house.instance.call("POST", "/store", {"content": f"after {who}"})
        assert next_event(neighbour, "grain.stored")
    assert house.refused(who) == code - 4000


def test_signing_out_through_the_page_closes_the_sockets_of_every_browser(house: House) -> None:
    [first, second] = house.python(
        """
import json
from django.conf import settings
from tests.dashboard.conftest import Person
settings.PASSWORD_HASHERS = ["tests.hashers.CheapArgon2"]
gus = Person("gus")
name = settings.SESSION_COOKIE_NAME
print(json.dumps([f"{name}={gus.sign_in().cookies[name].value}" for _ in range(2)]))
"""
    )
    with peoples_feed(house.instance, first) as one, peoples_feed(house.instance, second) as two:
        mark = "c" * 32
        csrf = first.partition("=")[0].replace("_session", "_csrf")
        answer = house.instance.call(
            "POST",
            "/sign-out",
            f"csrfmiddlewaretoken={mark}".encode(),
            door="people",
            headers={
                "Cookie": f"{first}; {csrf}={mark}",
                "Origin": house.instance.state["urls"]["people"],
                "Content-Type": "application/x-www-form-urlencoded",
            },
        )
        left_at = time.time()
        assert answer.status == 302
        for feed in (one, two):
            code, moment, _ = wait_for_end(feed)
            assert code == 4401 and moment - left_at < SOON


def test_the_handshake_says_no_before_any_socket_opens(house: House) -> None:
    assert house.refused("ada", Cookie="") == 401
    assert house.refused("ada", Origin="http://evil.example") == 403
    assert house.refused("ada", Host="evil.example") == 400
    assert house.refused("bo", "other") == house.refused("bo", "nowhere") == 403
    assert house.refused("ada", "../main") == 422
    nowhere = peoples_address(house.instance).replace("/live", "/admin/")
    assert handshake_refusal(nowhere, Origin=house.instance.state["urls"]["people"]).status == 404


def test_a_persons_cookie_is_nothing_at_the_agents_door_nor_a_token_here(house: House) -> None:
    ports = house.instance.state["ports"]
    agents_door = f"ws://127.0.0.1:{ports['mcp']}/live"
    bearer = f"Bearer {house.instance.token}"
    assert handshake_refusal(agents_door, Cookie=house.cookies["ada"]).status == 401
    origin = house.instance.state["urls"]["people"]
    assert handshake_refusal(peoples_address(house.instance), Origin=origin, Authorization=bearer).status == 401
    # No page may use the agents' door, not even one that this very door would serve.
    for page in (f"http://127.0.0.1:{ports['mcp']}", origin, "http://evil.example", "null"):
        assert handshake_refusal(agents_door, Origin=page, Authorization=bearer).status == 403
    assert handshake_refusal(agents_door, Host="evil.example", Authorization=bearer).status == 400
    assert handshake_refusal(f"{agents_door}?space=other", Authorization=bearer).status == 422
    assert handshake_refusal(agents_door.replace("/live", "/"), Authorization=bearer).status == 404
    open_feed(agents_door, Authorization=bearer).close()


def test_refusals_leave_no_noise_and_no_secret_in_the_log(house: House) -> None:
    secret = "flux_AAAAAAAA_" + "b" * 43
    ports = house.instance.state["ports"]
    handshake_refusal(f"ws://127.0.0.1:{ports['mcp']}/live?token={secret}", Authorization=f"Bearer {secret}")
    handshake_refusal(f"ws://127.0.0.1:{ports['people']}/live?token={secret}", Cookie=f"x={secret}")
    written = (house.instance.folder / "flux.log").read_text()
    assert secret not in written and house.cookies["ada"].partition("=")[2] not in written
    assert not [line for line in written.splitlines() if " ERROR " in line or " WARNING " in line]


def test_the_instance_stops_in_time_with_sockets_open(house: House) -> None:
    """The last test of this file: the instance that served all others ends in it."""
    running = house.instance
    address = f"ws://127.0.0.1:{running.state['ports']['mcp']}/live"
    feeds = [open_feed(address, Authorization=f"Bearer {running.token}") for _ in range(20)]
    full = handshake_refusal(address, Authorization=f"Bearer {running.token}")
    assert full.status == 503 and full.json()["code"] == "busy" and int(full.headers["retry-after"]) > 0
    assert running.stop() == 0
    assert {wait_for_end(feed)[0] for feed in feeds} == {1012}
    assert "killed" not in (running.folder / "flux.log").read_text()
