"""Live feed: what one read of the database finds, for which sockets, and whether they may still see it."""

from __future__ import annotations

import asyncio
import json

import pytest

from fluxcore import events
from fluxcore.errors import Busy, Forbidden, Unauthenticated
from fluxcore.events import Position
from fluxcore.log import live
from fluxcore.log.live import LiveSubscriber, Socket, look
from tests.core.test_events import tell

pytestmark = pytest.mark.django_db(transaction=True)

HERE, ELSEWHERE = 1, 2


def everything(change):
    return True


def socket(credential="one", *, space=HERE, position=None, rights=lambda: everything):
    visitor = LiveSubscriber(credential, credential, space, "agent:a", "home", rights)
    return Socket(visitor, position or Position(), 0.0, asyncio.Future(loop=asyncio.new_event_loop()))


def looked(*sockets, due=()):
    places = {one: (one.subscriber.space, one.position) for one in sockets}
    found = look(list(sockets), places, set(due))
    return found, [found.pages.get(places[one], ([], None)) for one in sockets]


def subjects(page):
    return [change.subject for change, _ in page]


def test_without_events_one_read_serves_all_sockets_with_one_statement(django_assert_num_queries):
    tell("a", space=HERE)
    sockets = [socket(str(number), position=events.head()) for number in range(50)]
    with django_assert_num_queries(1):
        found, _ = looked(*sockets)
    assert found.pages == {} and found.verdicts == {}


def test_rights_are_checked_after_the_events_were_read():
    """Otherwise one that was written after a revocation could be handed out on a right that was looked up before it."""
    tell("before", space=HERE)

    def rights():
        tell("meanwhile", space=HERE)
        return everything

    found, [(page, _)] = looked(socket(rights=rights))
    assert subjects(page) == ["before"]
    assert found.verdicts["one"] is everything


def test_no_event_is_sent_without_a_fresh_check_of_the_right():
    tell("news", space=HERE)
    asked = []
    sockets = [socket("one", rights=lambda: asked.append("one")), socket("two", space=ELSEWHERE)]
    looked(*sockets)
    assert asked == ["one"]


def test_each_credential_is_checked_once_per_read():
    asked = []

    def rights():
        asked.append(1)
        return everything

    looked(*(socket(rights=rights) for _ in range(8)), due={"one"})
    assert asked == [1]


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (Unauthenticated, live.SIGNED_OUT),
        (Forbidden, live.NOT_ALLOWED),
        (Busy, live.BLIND),
        (ValueError, live.BROKEN),
    ],
)
def test_an_ended_or_failing_check_affects_only_its_own_socket(error, ending):
    def rights():
        raise error

    found, _ = looked(socket("one", rights=rights), socket("two"), due={"one", "two"})
    assert found.verdicts == {"one": ending, "two": everything}


def test_a_socket_gets_only_its_own_space_and_ends_at_the_common_position():
    tell("a", space=HERE)
    tell("b", space=ELSEWHERE)
    tell("c", space=None)
    found = looked(socket("one"), socket("two", space=ELSEWHERE), socket("three", position=events.head()))[1]
    assert [subjects(page) for page, _ in found] == [["a"], ["b"], []]
    assert [position for _, position in found] == [events.head(), events.head(), None]


def test_a_long_backlog_is_read_in_pages_without_a_gap(monkeypatch):
    monkeypatch.setattr(live, "PAGE", 3)
    for number in range(4):
        tell(*(f"{number}{letter}" for letter in "ab"), space=HERE)
        tell("other", space=ELSEWHERE)
    one, seen = socket(), []
    while True:
        _, [(page, position)] = looked(one)
        if position is None:
            break
        seen += subjects(page)
        one.position = position
    assert seen == ["0a", "0b", "1a", "1b", "2a", "2b", "3a", "3b"]


def test_a_message_is_a_public_summary_with_its_position():
    tell("a", space=HERE, data={"origin": "user_stated"}, packed=b"not for sockets")
    _, [([(change, text)], _)] = looked(socket())
    message = json.loads(text)
    assert set(message) == {"kind", "at", "actor", "subject", "data", "position"}
    assert (message["subject"], message["data"]) == ("a", {"origin": "user_stated"})
    assert Position.parse(message["position"]) == change.position
    assert "not for sockets" not in text
