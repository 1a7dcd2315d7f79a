"""/sign-in: a password, then a code; nothing leaked, nothing lost"""

from __future__ import annotations

import pytest
from django.conf import settings

from accounts import people
from accounts.models import AuditEntry, Authenticator, GuessCount, Session, User
from accounts.principals import shell
from tests.dashboard.conftest import PASSWORD, browser, code_for, half_way, is_in, post, words, wrong_code_for


def test_password_and_code_let_a_person_in(ada):
    client = browser()
    answer = post(client, "/sign-in", username="ada", password=PASSWORD)
    assert answer.status_code == 302 and answer["Location"] == "/sign-in/code"
    assert not is_in(client)
    answer = post(client, "/sign-in/code", code=code_for(ada.key))
    assert answer.status_code == 302 and answer["Location"] == "/"
    assert is_in(client) and client.get("/admin/").status_code == 200


def test_a_password_alone_opens_nothing(ada):
    client = half_way(ada)
    for path in ("/admin/", "/account", "/account/password", "/admin/accounts/agent/"):
        assert client.get(path).status_code == 302, path
    assert "Open the admin" not in words(client.get("/"))


@pytest.mark.parametrize(
    "username", ["ada", "nobody", "ADA", "\u0430\u0434\u0430", "ada\u200b", "x" * 64, "'; --", "%_"]
)
def test_a_wrong_password_and_an_unknown_name_are_told_the_same(ada, username):
    answer = post(browser(), "/sign-in", username=username, password="not the password at all")
    known = post(browser(), "/sign-in", username="ada", password="not the password at all")
    assert answer.status_code == known.status_code == 401
    assert "The user name or the password is wrong." in words(answer)


def test_nothing_typed_comes_back_but_the_name(ada):
    page = words(post(browser(), "/sign-in", username="ada", password="hunter2 hunter2"))
    assert "hunter2" not in page and 'value="ada"' in page
    wrong = wrong_code_for(ada.key)
    assert wrong not in words(post(half_way(ada), "/sign-in/code", code=wrong))


@pytest.mark.either_database
@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "\t//evil.example",
        "http:///evil.example",
        "///evil.example",
        "/%0d%0aSet-Cookie:x=1\r\nX: y",
        "x" * 5000,
        "/" + "x" * 5000,
        "@evil",
    ],
)
def test_a_hostile_next_leads_home(ada, target):
    client = browser()
    answer = post(client, "/sign-in", username="ada", password=PASSWORD, next=target)
    assert answer["Location"] == "/sign-in/code"
    assert post(client, "/sign-in/code", code=code_for(ada.key))["Location"] == "/"


def test_a_page_that_asked_for_the_sign_in_is_come_back_to(ada):
    client = browser()
    sent = client.get("/admin/accounts/agent/")
    assert sent.status_code == 302
    login = client.get(sent["Location"])
    assert login.status_code == 302 and login["Location"].startswith("/sign-in?next=%2Fadmin%2Faccounts%2Fagent")
    answer = post(client, login["Location"], username="ada", password=PASSWORD, next="/admin/accounts/agent/")
    assert answer.status_code == 302
    assert post(client, "/sign-in/code", code=code_for(ada.key))["Location"] == "/admin/accounts/agent/"


def test_a_session_planted_before_the_sign_in_does_not_take_the_first_step_along(ada):
    planted = browser()
    post(planted, "/sign-in", username="ada", password="wrong wrong wrong")
    planted.session.save()
    planted.cookies[settings.SESSION_COOKIE_NAME] = planted.session.session_key or ""
    thief = browser()
    thief.cookies[settings.SESSION_COOKIE_NAME] = planted.cookies[settings.SESSION_COOKIE_NAME].value
    half_way(ada, planted)
    assert thief.get("/sign-in/code").status_code == 302
    assert planted.get("/sign-in/code").status_code == 200


def test_a_session_planted_before_the_sign_in_is_worth_nothing(ada):
    planted = browser()
    planted.get("/sign-in")
    half_way(ada, planted)
    key = planted.session.session_key
    post(planted, "/sign-in/code", code=code_for(ada.key))
    thief = browser()
    thief.cookies[settings.SESSION_COOKIE_NAME] = key
    assert is_in(planted) and not is_in(thief)


def test_the_database_holds_no_key_of_a_session(ada):
    client = ada.sign_in()
    key = client.cookies[settings.SESSION_COOKIE_NAME].value
    assert not Session.objects.extra(where=["session_key = %s"], params=[key]).exists()
    stolen = browser()
    stolen.cookies[settings.SESSION_COOKIE_NAME] = Session.objects.get(user=ada.user).session_key
    assert is_in(client) and not is_in(stolen)


@pytest.mark.either_database
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=b"])
@pytest.mark.parametrize("charset", ["latin-1", "zlib", "idna", "unicode_escape", "utf-16", "nonsense", '"utf-7"'])
def test_forms_in_other_letters_than_utf_8_are_refused(ada, kind, charset):
    answer = browser().generic("POST", "/sign-in", b"username=ada&password=x", f"{kind}; charset={charset}")
    assert answer.status_code == 400 and answer["Content-Security-Policy"] and answer["X-Request-Id"]


def test_utf_8_may_be_named(ada):
    sent = browser().generic("POST", "/sign-in", b"", 'application/x-www-form-urlencoded; charset="UTF-8"')
    assert sent.status_code == 403  # only the CSRF token is missing


def test_a_form_of_another_site_is_refused(ada):
    client = browser()
    client.get("/sign-in")
    answer = client.post("/sign-in", {"username": "ada", "password": PASSWORD})
    assert answer.status_code == 403 and "Please try again" in words(answer)


def test_every_result_is_on_the_chain_and_no_secret_is(ada):
    wrong = wrong_code_for(ada.key)
    post(browser(), "/sign-in", username="ada", password="wrong wrong wrong")
    client = half_way(ada)
    post(client, "/sign-in/code", code=wrong)
    good = code_for(ada.key)
    post(client, "/sign-in/code", code=good)
    found = list(AuditEntry.objects.filter(action="sign_in").order_by("seq").values_list("actor", "outcome", "details"))
    assert [row[:2] for row in found] == [("user:ada", "refused"), ("user:ada", "refused"), ("user:ada", "done")]
    told = " ".join(row[2] for row in found)
    assert '"why":"password"' in told and '"why":"wrong"' in told and '"factor":"totp"' in told
    everything = " ".join(str(list(row.values())) for row in AuditEntry.objects.values())
    assert PASSWORD not in everything and "wrong wrong wrong" not in everything
    assert f'"{good}"' not in everything and f'"{wrong}"' not in everything


def test_what_was_typed_as_an_unknown_name_is_kept_nowhere(ada):
    """People type their password into the wrong field."""
    post(browser(), "/sign-in", username="my-secret-password", password="x")
    kept = str(list(AuditEntry.objects.values())) + str(list(GuessCount.objects.values()))
    assert "my-secret-password" not in kept


def test_unknown_names_are_counted_by_source_and_minute(standing_clock, ada):
    client = browser()
    client.defaults["REMOTE_ADDR"] = "192.0.2.77"
    for number in range(5):
        post(client, "/sign-in", username=f"nobody{number}", password="wrong wrong wrong")
    assert AuditEntry.objects.filter(outcome="refused", object="192.0.2.77").count() == 1


def test_somebody_stopped_or_without_a_second_factor_cannot_come_in(ada, person):
    grace = person("grace")
    people.switch(shell(), username="grace", active=False)
    answer = post(browser(), "/sign-in", username="grace", password=PASSWORD)
    assert answer.status_code == 401 and "is wrong" in words(answer)
    Authenticator.objects.filter(user=ada.user).delete()
    assert post(half_way(ada), "/sign-in/code", code=code_for(ada.key)).status_code == 401
    assert User.objects.get(username="grace") == grace.user
