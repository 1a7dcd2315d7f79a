"""/account: a person's sessions, password and second factor"""

from __future__ import annotations

import base64
import re
from datetime import timedelta

import pytest
import time_machine

from accounts import people
from accounts.instance_verbs import note_restore
from accounts.models import AuditEntry, Authenticator, BackupCode, Session
from accounts.principals import shell
from accounts.signin import credentials, sessions
from fluxcore import clock
from fluxcore.errors import SignInRefused
from tests.dashboard.conftest import PASSWORD, browser, code_for, key_on, post

NEW = "another four unrelated words"


def words(answer) -> str:
    return answer.content.decode()


def is_in(client) -> bool:
    return client.get("/account").status_code == 200


def test_it_lists_where_the_person_is_signed_in(ada):
    client = browser()
    client.defaults.update({"REMOTE_ADDR": "192.0.2.5", "HTTP_USER_AGENT": "A phone <b>"})
    ada.sign_in(client)
    other = ada.sign_in()
    page = words(other.get("/account"))
    assert "192.0.2.5" in page and "A phone &lt;b&gt;" in page
    assert page.count("This browser") == 1 and page.count(">End session<") == 1


def test_one_session_can_be_ended_from_another(ada):
    lost, here = ada.sign_in(), ada.sign_in()
    named = re.search(r'name="session" value="(\w{64})"', words(here.get("/account"))).group(1)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', words(here.get("/account"))).group(1)
    here.post("/account/end-session", {"csrfmiddlewaretoken": token, "session": named})
    assert is_in(here) and not is_in(lost)
    entry = AuditEntry.objects.get(action="own.end_session")
    assert entry.actor == "user:ada" and named not in entry.details


@pytest.mark.parametrize("session", ["", "x", "0" * 64, "nul\0", "é" * 64])
def test_a_session_that_is_not_there_is_told_so(ada, session):
    client = ada.sign_in()
    token = client.cookies.get("csrftoken")
    page = client.get("/account")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', words(page)).group(1)
    answer = client.post("/account/end-session", {"csrfmiddlewaretoken": token, "session": session}, follow=True)
    assert answer.status_code == 200 and "has ended already" in words(answer)


def test_nobody_ends_the_session_of_somebody_else(ada, person):
    grace = person("grace").sign_in()
    client = ada.sign_in()
    foreign = Session.objects.get(user__username="grace").session_key
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', words(client.get("/account"))).group(1)
    client.post("/account/end-session", {"csrfmiddlewaretoken": token, "session": foreign})
    assert is_in(grace)


def test_signing_out_ends_every_session(ada):
    one, two, three = ada.sign_in(), ada.sign_in(), ada.sign_in()
    assert post(one, "/sign-out").status_code == 302
    assert [is_in(client) for client in (one, two, three)] == [False] * 3
    assert not Session.objects.filter(user=ada.user).exists()
    assert AuditEntry.objects.filter(action="own.sign_out", actor="user:ada").count() == 1


def test_a_link_elsewhere_cannot_sign_a_person_out(ada):
    client = ada.sign_in()
    assert client.get("/sign-out").status_code == 405
    assert client.post("/sign-out").status_code == 403
    assert client.get("/admin/logout/")["Location"] == "/account"
    assert is_in(client)


def test_the_list_says_when_a_session_was_last_used(ada):
    client = ada.sign_in()
    before = Session.objects.get(user=ada.user).seen_at
    sessions._noted.clear()
    with time_machine.travel(clock.now() + timedelta(minutes=10)):
        client.get("/account")
        assert Session.objects.get(user=ada.user).seen_at - before > timedelta(minutes=9)


def test_a_session_ends_twelve_hours_after_the_sign_in(ada):
    client = ada.sign_in()
    with time_machine.travel(clock.now() + timedelta(hours=11, minutes=59)):
        assert is_in(client)
    with time_machine.travel(clock.now() + timedelta(hours=12, seconds=2)):
        assert not is_in(client)


@pytest.mark.parametrize("path", ["/account/password", "/account/authenticator"])
def test_what_is_secret_wants_a_fresh_code(ada, path):
    client = ada.sign_in()
    assert client.get(path).status_code == 200
    with time_machine.travel(clock.now() + timedelta(minutes=5, seconds=1)):
        answer = client.get(path)
        assert answer.status_code == 302 and answer["Location"].startswith("/fresh-code?next=%2Faccount%2F")
        wrong = post(client, answer["Location"], code="000000", next=path)
        assert wrong.status_code == 401
        assert client.get(path).status_code == 302
        right = post(client, answer["Location"], code=ada.codes.pop(), next=path)
        assert right.status_code == 302 and right["Location"] == path
        assert client.get(path).status_code == 200
    assert AuditEntry.objects.filter(action="step_up", outcome="done").count() == 1


def test_new_backup_codes_want_a_fresh_code_too(ada):
    client = ada.sign_in()
    kept = set(BackupCode.objects.values_list("digest", flat=True))
    with time_machine.travel(clock.now() + timedelta(minutes=6)):
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', words(client.get("/account"))).group(1)
        answer = client.post("/account/backup-codes", {"csrfmiddlewaretoken": token})
    assert answer["Location"].startswith("/fresh-code")
    assert set(BackupCode.objects.values_list("digest", flat=True)) == kept


def test_a_new_password_ends_every_session_and_the_old_one(ada):
    client, other = ada.sign_in(), ada.sign_in()
    answer = post(client, "/account/password", password=NEW, password_again=NEW)
    assert answer.status_code == 302 and answer["Location"] == "/sign-in"
    assert not is_in(client) and not is_in(other)
    assert post(browser(), "/sign-in", username="ada", password=PASSWORD).status_code == 401
    assert post(browser(), "/sign-in", username="ada", password=NEW).status_code == 302
    assert NEW not in str(list(AuditEntry.objects.values()))


@pytest.mark.parametrize(
    ("password", "again", "says"),
    [
        ("short", "short", "at least 12"),
        (NEW, "other", "differ"),
        ("p" * 2000, "p" * 2000, "at most 1024"),
        ("", "", "required"),
    ],
)
def test_a_poor_password_is_refused_and_nothing_changes(ada, password, again, says):
    client = ada.sign_in()
    answer = post(client, "/account/password", password=password, password_again=again)
    assert answer.status_code == 422 and says in words(answer)
    assert is_in(client)


def test_new_backup_codes_replace_the_old_ones(ada):
    client = ada.sign_in()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', words(client.get("/account"))).group(1)
    page = words(client.post("/account/backup-codes", {"csrfmiddlewaretoken": token}))
    codes = re.findall(r"<code>([a-z0-9-]{19})</code>", page)
    assert len(codes) == 10
    with pytest.raises(SignInRefused):
        credentials.check_code(ada.user, ada.codes[0], source="test")
    assert credentials.check_code(ada.user, codes[0], source="test") == "backup"


def test_another_phone_takes_over_once_it_has_shown_a_right_code(standing_clock, ada):
    client = ada.sign_in()
    page = client.get("/account/authenticator")
    key = key_on(page)
    assert post(client, "/account/authenticator", code="000000").status_code == 422
    assert credentials.check_code(ada.user, code_for(ada.key), source="test") == "totp"  # the old one still works
    answer = post(client, "/account/authenticator", code=code_for(key))
    assert answer.status_code == 302 and answer["Location"] == "/sign-in"
    assert not is_in(client)
    with time_machine.travel(clock.now() + timedelta(seconds=31)):
        with pytest.raises(SignInRefused):
            credentials.check_code(ada.user, code_for(ada.key), source="test")
        assert credentials.check_code(ada.user, code_for(key), source="test") == "totp"
    for form in (key.hex(), base64.b32encode(key).decode()):
        assert form not in str(list(Authenticator.objects.values())) + str(list(Session.objects.values()))


def test_who_is_stopped_is_out_at_once(ada, person):
    grace = person("grace").sign_in()
    people.switch(shell(), username="grace", active=False)
    assert not is_in(grace)
    ended = AuditEntry.objects.get(action="people.switch")
    assert '"sessions":1' in ended.details


def test_a_reset_second_factor_ends_the_sessions_and_its_link_makes_a_new_one(ada):
    client = ada.sign_in()
    secret = people.reset(shell(), username="ada")["secret"]
    assert not is_in(client)
    visitor = browser()
    page = visitor.get(f"/enrol/{secret}")
    assert "A new second factor" in words(page) and "username" not in re.findall(r'name="(\w+)"', words(page))
    key = key_on(page)
    wrong = post(visitor, f"/enrol/{secret}", password="not the password", code=code_for(key))
    assert wrong.status_code == 422 and "not the password of this account" in words(wrong)
    done = post(visitor, f"/enrol/{secret}", password=PASSWORD, code=code_for(key))
    assert done.status_code == 200 and is_in(visitor)
    assert browser().get(f"/enrol/{secret}").status_code == 404


def test_ten_wrong_passwords_end_the_link_for_a_new_second_factor(ada):
    secret = people.reset(shell(), username="ada")["secret"]
    visitor = browser()
    code = code_for(key_on(visitor.get(f"/enrol/{secret}")))
    answers = [post(visitor, f"/enrol/{secret}", password="not the password", code=code) for _ in range(10)]
    assert [answer.status_code for answer in answers] == [422] * 9 + [404]
    assert browser().get(f"/enrol/{secret}").status_code == 404
    assert not Authenticator.objects.exists()


def test_the_links_of_somebody_stopped_are_closed(ada, person):
    person("grace")
    secret = people.reset(shell(), username="grace")["secret"]
    people.switch(shell(), username="grace", active=False)
    assert browser().get(f"/enrol/{secret}").status_code == 404


@pytest.mark.parametrize("what", ["password", "authenticator", "reset", "stop", "resume"])
def test_no_session_is_left_when_a_secret_changes(standing_clock, ada, person, what):
    person("grace")
    client = ada.sign_in()
    if what == "password":
        post(client, "/account/password", password=NEW, password_again=NEW)
    elif what == "authenticator":
        key = key_on(client.get("/account/authenticator"))
        post(client, "/account/authenticator", code=code_for(key))
        with pytest.raises(SignInRefused, match="used"):
            credentials.check_code(ada.user, code_for(key), source="test")
    elif what == "reset":
        people.reset(shell(), username="ada")
    else:
        people.switch(shell(), username="ada", active=what == "resume")
    assert not Session.objects.filter(user=ada.user).exists()


def test_an_invited_person_chooses_password_and_second_factor(ada, space):
    made = people.invite(shell(), username="grace", space="home", role="viewer")
    assert post(browser(), "/sign-in", username="grace", password="").status_code == 422
    visitor = browser()
    page = visitor.get(f"/enrol/{made['secret']}")
    assert "Finish your account" in words(page)
    fields = {"password": NEW, "password_again": NEW, "code": code_for(key_on(page))}
    assert post(visitor, f"/enrol/{made['secret']}", **fields).status_code == 200
    page = words(visitor.get("/account"))
    assert "grace" in page and "viewer" in page and "administrator" not in page


def test_a_restored_backup_lets_nobody_back_in(ada):
    """Its sessions and links may have ended since it was made."""
    client = ada.sign_in()
    secret = people.unlock(shell(), username="ada")["secret"]
    note_restore(shell(), backup="flux.zip", created_at="2026-11-16T12:00:00Z")
    assert not is_in(client)
    assert browser().get(f"/enrol/{secret}").status_code == 404
