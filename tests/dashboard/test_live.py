"""/live: who may follow a space from a page, and what ends it"""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import pytest
import time_machine
from django.conf import settings

from accounts import agents, own_account, people, roles
from accounts.models import AuditEntry, Authenticator, Membership, RefusalMinute, Session, User
from accounts.principals import shell
from dashboard import live
from fluxcore.errors import BadHost, BadOrigin, FluxError, Forbidden, Invalid, Unauthenticated
from tests.dashboard.conftest import PASSWORD, browser, post

HTTPS = {"HTTPS": True, "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https")}


def cookie(client) -> str:
    found = client.cookies.get(settings.SESSION_COOKIE_NAME)
    return f"{settings.SESSION_COOKIE_NAME}={found.value}" if found else ""


def admit(scope):
    """What stands before the consumer: its origin, then who is calling."""
    live.check_origin(scope)
    return live.admit(scope)


def handshake(client=None, query: str = "space=home", path: str = "/live", **headers: str | None):
    """A browser's handshake as the server hands it over; a header given as None is left out."""
    given = {"host": "localhost:7462", "origin": "http://localhost:7462", **headers}
    if client is not None:
        given.setdefault("cookie", cookie(client))
    return {
        "type": "websocket",
        "scheme": "ws",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items() if value is not None],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 7462),
        "http_version": "1.1",
    }


@pytest.fixture
def viewer(person, space):
    return person("vera", administrator=False, roles={"home": "viewer"})


@pytest.mark.parametrize("role", ["viewer", "operator", "owner"])
def test_everybody_with_a_role_may_follow_the_space(person, space, role):
    somebody = person("bo", administrator=False, roles={"home": role})
    visitor = admit(handshake(somebody.sign_in()))
    assert (visitor.space, visitor.where, visitor.actor) == (space.pk, "home", "user:bo")
    assert visitor.rights()


def test_an_administrator_may_follow_every_space(ada, space):
    assert admit(handshake(ada.sign_in())).space == space.pk


def test_a_visitor_may_follow_nothing_and_is_counted(people_client, space):
    with pytest.raises(Unauthenticated, match="Sign in first"):
        admit(handshake(people_client))
    assert RefusalMinute.objects.get().source == "127.0.0.1"


def test_a_password_without_a_code_is_nobody(viewer):
    client = browser()
    assert post(client, "/sign-in", username="vera", password=PASSWORD).status_code == 302
    with pytest.raises(Unauthenticated):
        admit(handshake(client))


def test_a_session_that_never_saw_a_second_factor_is_nobody(viewer):
    client = browser()
    client.force_login(viewer.user)
    with pytest.raises(Unauthenticated):
        admit(handshake(client))


@pytest.mark.parametrize("value", ["", "x", '"\\000"', "\u00e9" * 32, "a" * 32, "' OR 1=1 --", "A" * 5000])
def test_a_hostile_cookie_is_no_session(people_client, space, value):
    with pytest.raises(Unauthenticated):
        admit(handshake(cookie=f"{settings.SESSION_COOKIE_NAME}={value}"))


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "",
        "null",
        "http://evil.example",
        "http://localhost",
        "http://localhost:7465",
        "https://localhost:7462",
        "http://localhost:7462.evil.example",
        "http://evil.example#http://localhost:7462",
        "file://",
        "*",
        "http://localhost:7462, http://evil.example",
    ],
)
def test_only_a_page_of_this_very_door_opens_it(viewer, origin):
    with pytest.raises(BadOrigin):
        admit(handshake(viewer.sign_in(), origin=origin))


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7462", "", "localhost.evil.example", "[::1"])
def test_a_name_that_is_not_ours_is_refused_even_if_the_origin_says_the_same(viewer, host):
    with pytest.raises(BadHost):
        admit(handshake(viewer.sign_in(), host=host, origin=f"http://{host}"))


def test_a_listed_name_is_one_of_ours(viewer, settings):
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "flux.lan"]
    assert admit(handshake(viewer.sign_in(), host="Flux.lan:7462", origin="http://flux.lan:7462"))


def test_behind_tls_only_https_counts(viewer, settings):
    client = viewer.sign_in()
    for name, value in HTTPS.items():
        setattr(settings, name, value)
    secure = {"origin": "https://localhost:7462", "x-forwarded-proto": "https"}
    assert admit(handshake(client, **secure))
    for changed in ({"x-forwarded-proto": None}, {"x-forwarded-proto": "http"}, {"origin": "http://localhost:7462"}):
        with pytest.raises(BadOrigin):
            admit(handshake(client, **{**secure, **changed}))


def test_a_space_of_others_is_answered_like_one_that_is_not_there(viewer):
    agents.create_space(shell(), name="secret")
    client, said = viewer.sign_in(), []
    for name in ("secret", "nowhere"):
        with pytest.raises(Forbidden) as refused:
            admit(handshake(client, f"space={name}"))
        said.append(refused.value.body())
    assert said[0] == said[1] and "secret" not in str(said)
    links = AuditEntry.objects.filter(action="live.follow", outcome="refused", actor="user:vera")
    assert sorted(links.values_list("object", flat=True)) == ["nowhere", "secret"]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "space=",
        "space=home&space=home",
        "space=home&token=x",
        "space=HOME",
        "space=home%00",
        "space=%ff",
        "space=home&since=",
        "space=home&since=x",
        "space=home&since=-1.0",
        "space=home&since=1.1&since=1.2",
        "&" * 99,
    ],
)
def test_an_address_that_says_nothing_sensible_is_refused(viewer, query):
    with pytest.raises(Invalid):
        admit(handshake(viewer.sign_in(), query))


def answered(scope):
    """The status and error code that the routes give in place of a handshake."""
    sent = []

    async def receive():
        return {"type": "websocket.disconnect" if sent else "websocket.connect", "code": 1006}

    async def send(message):
        sent.append(message)

    asyncio.run(live.websockets(scope, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])["code"]


@pytest.mark.parametrize("path", ["/", "/live/", "/admin/", "/ws", "/LIVE", "/live/live"])
def test_there_is_one_socket_at_this_server(path):
    assert answered(handshake(path=path)) == (404, "not_found")


def test_the_origin_is_looked_at_before_the_address():
    assert answered(handshake(path="/nowhere", origin="http://evil.example")) == (403, "bad_origin")


def sign_out(viewer, client):
    own_account.sign_out(roles.person_principal(viewer.user, fresh=True))


def end_the_session(viewer, client):
    assert Session.objects.filter(user=viewer.user).delete()[0] == 1


def shut_out(viewer, client):
    people.switch(shell(), username="vera", active=False)


def only_deactivate(viewer, client):
    User.objects.filter(pk=viewer.user.pk).update(is_active=False)


def change_the_password(viewer, client):
    User.objects.filter(pk=viewer.user.pk).update(password="another")


def lose_the_phone(viewer, client):
    Authenticator.objects.filter(user=viewer.user).delete()


def leave_through_the_page(viewer, client):
    assert client.post("/sign-out", {"csrfmiddlewaretoken": _token(client)}).status_code == 302


def _token(client) -> str:
    return str(client.cookies[settings.CSRF_COOKIE_NAME].value)


@pytest.mark.parametrize(
    "how",
    [
        sign_out,
        end_the_session,
        shut_out,
        only_deactivate,
        change_the_password,
        lose_the_phone,
        leave_through_the_page,
    ],
)
def test_who_is_no_longer_signed_in_sees_nothing_more(viewer, how):
    client = viewer.sign_in()
    visitor = admit(handshake(client))
    assert visitor.rights()
    how(viewer, client)
    with pytest.raises(FluxError) as ended:
        visitor.rights()
    assert ended.type is Unauthenticated


def test_who_is_no_longer_a_member_sees_nothing_more(viewer):
    visitor = admit(handshake(viewer.sign_in()))
    assert visitor.rights()
    people.set_role(shell(), username="vera", space="home", role="")
    with pytest.raises(Forbidden):
        visitor.rights()


def test_a_change_of_role_that_still_allows_it_changes_nothing(viewer):
    visitor = admit(handshake(viewer.sign_in()))
    Membership.objects.filter(user=viewer.user).update(role="owner")
    assert visitor.rights()


def test_an_administrator_who_is_one_no_more_sees_nothing_more(ada, space):
    visitor = admit(handshake(ada.sign_in()))
    assert visitor.rights()
    User.objects.filter(pk=ada.user.pk).update(is_superuser=False)
    with pytest.raises(Forbidden):
        visitor.rights()


def test_a_session_ends_at_its_hour_however_busy_the_feed_is(viewer):
    with time_machine.travel(0, tick=False) as clock:
        visitor = admit(handshake(viewer.sign_in()))
        for _ in range(11):
            clock.shift(timedelta(hours=1))
            assert visitor.rights()
        clock.shift(timedelta(hours=1, seconds=1))
        with pytest.raises(Unauthenticated):
            visitor.rights()


def test_looking_at_a_right_writes_nothing_and_takes_few_statements(viewer, django_assert_max_num_queries):
    visitor = admit(handshake(viewer.sign_in()))
    before = Session.objects.values().get()
    with django_assert_max_num_queries(6) as asked:
        visitor.rights()
    with django_assert_max_num_queries(1) as again:
        visitor.rights()
    assert all(query["sql"].strip().startswith("SELECT") for query in asked.captured_queries + again.captured_queries)
    assert Session.objects.values().get() == before
