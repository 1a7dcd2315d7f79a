"""/enrol/<secret>: the first administrator comes in, once"""

from __future__ import annotations

import base64
import io
import json
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import time_machine
from django.conf import settings
from django.db import connection
from django.test import Client

from accounts import audit, people
from accounts.authorise import may
from accounts.models import AuditEntry, Authenticator, BackupCode, Enrolment, Session, User
from accounts.principals import shell
from accounts.signin import credentials, links, second_factors
from accounts.signin.enrolment import enrol
from accounts.verbs import REGISTRY
from fluxcore import clock
from fluxcore.encryption import decrypt
from fluxcore.errors import Forbidden, Invalid, NotFound, SealBroken, SignInRefused
from fluxsite.logs import JSONFormatter, LineFormatter
from tests.dashboard.conftest import PASSWORD, code_for, key_on, wrong_code_for


def closed(answer) -> bool:
    return answer.status_code == 404 and "This link is closed" in answer.content.decode()


def error_beside(answer, field) -> str:
    """What stands next to a field, found the way a screen reader finds it."""
    page = answer.content.decode()
    widget = re.search(rf'<input[^>]*id="id_{field}"[^>]*>', page)
    assert widget and f"id_{field}_error" in widget.group(), f"{field} does not point to its error"
    assert 'aria-invalid="true"' in widget.group()
    return re.search(rf'id="id_{field}_error">(.*?)</ul>', page, re.DOTALL).group(1)


def test_it_makes_the_person_the_second_factor_and_ends_the_link(fill_in, people_client, link):
    answer = fill_in()
    assert answer.status_code == 200 and "Welcome, ada" in answer.content.decode(), answer.content.decode()
    user = User.objects.get()
    assert (user.username, user.is_superuser, user.is_staff) == ("ada", True, True)
    assert user.check_password(PASSWORD)
    device = Authenticator.objects.get()
    assert device.user == user and device.confirmed
    assert Enrolment.objects.get().used_at is not None


def test_who_has_enrolled_is_signed_in_and_sees_ten_backup_codes_once(fill_in, people_client, link):
    page = fill_in().content.decode()
    codes = re.findall(r"<li><code>([a-z0-9-]{19})</code>", page)
    assert len(set(codes)) == 10
    assert people_client.get("/admin/").status_code == 200
    stored = json.dumps([list(row.values()) for row in BackupCode.objects.values()], default=str)
    sessions = json.dumps([row.get_decoded() for row in Session.objects.all()])
    for code in codes:
        for form in (code, code.replace("-", "")):
            assert form not in stored and form not in sessions
    assert not any(code in people_client.get("/account").content.decode() for code in codes)


def test_the_session_gets_a_new_key_when_it_becomes_a_persons(fill_in, people_client, link):
    people_client.get(link)
    before = people_client.session.session_key
    fill_in()
    assert people_client.session.session_key != before
    stranger = Client(headers={"Host": "localhost"})
    stranger.cookies[settings.SESSION_COOKIE_NAME] = before
    assert stranger.get("/account").status_code == 302


def test_the_page_shows_the_key_as_picture_and_text(people_client, link):
    page = people_client.get(link)
    assert page.status_code == 200
    assert len(key_on(page)) == 20
    assert 'src="data:image/svg+xml' in page.content.decode()


def test_the_picture_and_the_text_carry_the_same_key(people_client, link):
    import html
    from urllib.parse import unquote

    import segno

    page = people_client.get(link)
    shown = html.unescape(re.search(r'src="(data:image/svg[^"]+)"', page.content.decode()).group(1))
    uri = second_factors.otp_uri(key_on(page), "administrator")
    assert base64.b32encode(key_on(page)).decode() in uri
    drawn = segno.make(uri, error="l", boost_error=False).svg_data_uri(border=4, dark="#000", light="#fff")
    assert unquote(shown) == unquote(drawn)


def test_the_key_stays_the_same_when_the_page_is_reloaded(people_client, link):
    assert key_on(people_client.get(link)) == key_on(people_client.get(link))


def test_the_key_is_in_no_form_field_and_leaves_the_session_when_it_is_used(fill_in, people_client, link):
    page = people_client.get(link)
    key = key_on(page)
    fields = "".join(re.findall(r"<(?:input|textarea|button)[^>]*>", page.content.decode()))
    assert key.hex() not in fields and str(second_factors.otp_uri(key, "x")).split("secret=")[1][:32] not in fields
    sealed = Session.objects.get().get_decoded()["enrolment"]["key"]
    for form in (key.hex(), base64.b32encode(key).decode(), base64.b64encode(key).decode()):
        assert form not in json.dumps([row.get_decoded() for row in Session.objects.all()])
    assert fill_in().status_code == 200
    assert sealed not in json.dumps([row.get_decoded() for row in Session.objects.all()])


def test_the_code_of_the_enrolment_does_not_also_sign_in(standing_clock, fill_in, people_client, link):
    key = key_on(people_client.get(link))
    code = code_for(key)
    assert fill_in(code=code).status_code == 200
    ada = User.objects.get()
    with pytest.raises(SignInRefused, match="has been used"):
        credentials.check_code(ada, code, source="test")
    with time_machine.travel(clock.now() + timedelta(seconds=30)):
        assert credentials.check_code(ada, code_for(key), source="test") == "totp"


def test_the_key_is_sealed_in_the_database(fill_in, people_client, link):
    key = key_on(people_client.get(link))
    fill_in()
    kept = Authenticator.objects.get().sealed_key
    for form in (key.hex(), base64.b32encode(key).decode(), base64.b64encode(key).decode()):
        assert form not in kept
    assert decrypt(kept, about=second_factors.key_context(User.objects.get().pk)) == key
    with pytest.raises(SealBroken):
        decrypt(kept, about=second_factors.key_context(User.objects.get().pk + 1))


def test_spaces_inside_the_code_are_welcome(fill_in, people_client, link):
    code = code_for(key_on(people_client.get(link)))
    assert fill_in(code=f" {code[:3]} {code[3:]} ").status_code == 200


def test_it_is_one_entry_of_the_audit_chain_in_the_name_of_the_link(fill_in):
    fill_in()
    entry = AuditEntry.objects.get(action="people.enrol")
    assert (entry.actor, entry.object) == (f"enrolment:{Enrolment.objects.get().pk}", "user:ada")
    assert audit.verify("instance").sound


def test_a_refused_attempt_leaves_nothing_behind_and_the_link_open(fill_in):
    User.objects.create(username="ada")
    answer = fill_in()
    assert answer.status_code == 409
    assert "already a person" in error_beside(answer, "username")
    assert Enrolment.objects.get().used_at is None
    assert not Authenticator.objects.exists() and not User.objects.filter(is_superuser=True).exists()


def test_every_problem_is_named_beside_its_field_at_once(fill_in):
    answer = fill_in(username="a b", password="short", password_again="other", code="12")
    assert answer.status_code == 422
    assert "letters, digits" in error_beside(answer, "username")
    assert "at least 12 characters" in error_beside(answer, "password")
    assert "differ" in error_beside(answer, "password_again")
    assert "six digits" in error_beside(answer, "code")


@pytest.mark.parametrize("field", ["username", "password", "password_again", "code"])
def test_an_empty_field_is_named(fill_in, field):
    answer = fill_in(**{field: ""})
    assert answer.status_code == 422
    assert "required" in error_beside(answer, field)


@pytest.mark.parametrize("password", ["password1234", "ada-ada-ada-ada", "a" * 5000, "nul\0in the password"])
def test_a_poor_password_is_refused(fill_in, password):
    answer = fill_in(username="ada-ada-ada-ada", password=password, password_again=password)
    assert answer.status_code == 422 and error_beside(answer, "password")
    assert not User.objects.exists()


def test_passwords_are_never_echoed(fill_in):
    answer = fill_in(username="a b")
    assert answer.status_code == 422
    assert PASSWORD not in answer.content.decode()


def test_what_was_typed_as_a_name_is_escaped(fill_in):
    page = fill_in(username='"><script>alert(1)</script>').content.decode()
    assert "<script" not in page


@pytest.mark.parametrize("path", ["/enrol/nonsense", "/enrol/" + "x" * 32, "/enrol/%00", "/enrol/é"])
def test_a_link_that_never_existed_is_closed(people_client, link, path):
    assert closed(people_client.get(path))


def test_an_old_link_ends_when_a_new_one_is_issued(people_client, link):
    links.issue_enrolment(shell())
    assert closed(people_client.get(link))


def test_a_link_ends_after_a_day(people_client, link):
    assert people_client.get(link).status_code == 200
    with time_machine.travel(clock.now() + timedelta(hours=24, seconds=1)):
        assert closed(people_client.get(link))


def test_a_used_link_is_closed(fill_in, people_client, link):
    assert fill_in().status_code == 200
    assert closed(people_client.get(link))
    assert closed(Client(headers={"Host": "localhost"}).get(link))


def test_a_link_is_closed_once_there_is_an_administrator(people_client, link):
    people.create_administrator(shell(), username="grace", password=PASSWORD)
    assert closed(people_client.get(link))


def test_a_closed_link_is_counted_as_a_refusal_of_nobody(standing_clock, people_client, link):
    for _ in range(3):
        people_client.get("/enrol/nonsense", REMOTE_ADDR="192.0.2.7")
    assert AuditEntry.objects.filter(outcome="refused", actor="agent:-", object="192.0.2.7").count() == 1


def test_ten_wrong_codes_end_the_link(fill_in, people_client, link):
    wrong = wrong_code_for(key_on(people_client.get(link)))
    for _ in range(9):
        answer = fill_in(code=wrong)
        assert answer.status_code == 422 and "does not match" in error_beside(answer, "code")
    assert closed(fill_in(code=wrong))
    assert closed(people_client.get(link))
    refused = AuditEntry.objects.filter(action="people.enrol", outcome="refused")
    assert refused.count() == 10 and not User.objects.exists()


def test_the_right_code_comes_too_late_after_ten_wrong_ones(db, link):
    holder, key = links.link_principal(links.find(link.split("/")[-1])), second_factors.new_key()
    given = {"username": "ada", "password": PASSWORD, "totp_key": key.hex()}
    for _ in range(9):
        with pytest.raises(Invalid):
            enrol(holder, **given, code=wrong_code_for(key))
    with pytest.raises(NotFound):
        enrol(holder, **given, code=wrong_code_for(key))
    with pytest.raises(NotFound):
        enrol(holder, **given, code=code_for(key))
    assert not User.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_wrong_codes_at_the_same_time_are_all_counted():
    holder, key = links.link_principal(links.find(links.issue_enrolment(shell())["secret"])), second_factors.new_key()

    def guess(number):
        try:
            enrol(holder, username="ada", password=PASSWORD, totp_key=key.hex(), code=wrong_code_for(key))
        except (Invalid, NotFound) as refusal:
            return type(refusal)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(guess, range(24)))
    assert (answers.count(Invalid), answers.count(NotFound)) == (9, 15)
    assert Enrolment.objects.get().wrong_codes == links.MAX_WRONG


def test_a_mistyped_password_is_no_guess_of_a_code(fill_in):
    fill_in(password_again="something else entirely")
    fill_in(code="12345")
    assert Enrolment.objects.get().wrong_codes == 0


def test_a_visitor_without_cookies_is_told(people_client, link, fill_in):
    code = code_for(key_on(people_client.get(link)))
    stranger = Client(headers={"Host": "localhost"})
    answer = stranger.post(link, {"username": "ada", "password": PASSWORD, "password_again": PASSWORD, "code": code})
    assert answer.status_code == 422 and "no cookies" in error_beside(answer, "code")
    assert Enrolment.objects.get().wrong_codes == 0


def test_a_form_of_another_site_is_refused(people_client, link):
    answer = people_client.post(link, {"username": "ada"})
    assert answer.status_code == 403 and "Please try again" in answer.content.decode()


@pytest.mark.parametrize("formatter", [LineFormatter(), JSONFormatter()])
def test_the_log_never_holds_the_link(people_client, link, monkeypatch, formatter):
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(formatter)
    logging.getLogger().addHandler(handler)
    try:
        people_client.post(link, {})
        monkeypatch.setattr(links, "find", lambda secret: 1 / 0)
        assert people_client.get(link).status_code == 500
    finally:
        logging.getLogger().removeHandler(handler)
    assert lines.getvalue().count("/enrol/***") == 2
    assert link not in lines.getvalue()


def test_nothing_of_it_is_cached(people_client, link):
    for page in (people_client.get(link), people_client.get("/enrol/nonsense")):
        assert "no-store" in page["Cache-Control"]


def test_the_holder_of_a_link_may_do_nothing_else(db, link):
    holder = links.link_principal(links.find(link.split("/")[-1]))
    assert [verb for verb, needs in REGISTRY.items() if may(holder, needs)] == ["people.enrol"]


def test_an_agent_may_not_enrol(principal, link):
    with pytest.raises(Forbidden):
        enrol(principal, username="ada", password=PASSWORD, totp_key="00" * 20, code="000000")


@pytest.mark.django_db(transaction=True)
def test_two_people_with_one_link_make_one_administrator():
    holder = links.link_principal(links.find(links.issue_enrolment(shell())["secret"]))

    def attempt(number):
        key = second_factors.new_key()
        try:
            enrol(holder, username=f"person{number}", password=PASSWORD, totp_key=key.hex(), code=code_for(key))
        except NotFound:
            return False
        else:
            return True
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(attempt, range(8))) == [False] * 7 + [True]
    assert User.objects.count() == Authenticator.objects.count() == 1
