"""/sign-in: a password, then a code; nothing leaked, nothing lost"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import time_machine
from django.conf import settings

from accounts import guesses, hashing, people, signin
from accounts.models import AuditEntry, Authenticator, BackupCode, GuessCount, Session, User
from accounts.principals import shell
from fluxcore import clock
from fluxcore.errors import NameLocked, SignInRefused
from tests.dashboard.conftest import PASSWORD, browser, code_for, post, wrong_code_for


def words(answer) -> str:
    return answer.content.decode()


def half_way(ada, client=None):
    client = client or browser()
    answer = post(client, "/sign-in", username=ada.username, password=PASSWORD)
    assert answer.status_code == 302 and answer["Location"] == "/sign-in/code"
    return client


def is_in(client) -> bool:
    return client.get("/account").status_code == 200


def test_password_and_code_let_a_person_in(ada):
    client = half_way(ada)
    assert not is_in(client)
    answer = post(client, "/sign-in/code", code=code_for(ada.key))
    assert answer.status_code == 302 and answer["Location"] == "/"
    assert is_in(client) and client.get("/admin/").status_code == 200


def test_a_password_alone_opens_nothing(ada):
    client = half_way(ada)
    for path in ("/admin/", "/account", "/account/password", "/admin/accounts/agent/"):
        assert client.get(path).status_code == 302, path
    assert "Open the administration" not in words(client.get("/"))


def test_a_backup_code_lets_a_person_in_once(ada):
    code = ada.codes[0]
    assert post(half_way(ada), "/sign-in/code", code=code.upper().replace("-", " ")).status_code == 302
    again = post(half_way(ada), "/sign-in/code", code=code)
    assert again.status_code == 401 and "has been used" in words(again)
    assert BackupCode.objects.filter(used_at=None).count() == 9


def test_a_code_works_once(ada):
    code = code_for(ada.key)
    assert post(half_way(ada), "/sign-in/code", code=code).status_code == 302
    for _ in range(20):
        again = post(half_way(ada), "/sign-in/code", code=code)
        assert again.status_code == 401 and "has been used" in words(again)


def test_the_predecessor_of_a_used_code_is_spent_with_it(ada):
    start = clock.now().replace(second=0, microsecond=0)
    with time_machine.travel(start + timedelta(seconds=35), tick=False):
        before, now = code_for(ada.key, ahead=-1), code_for(ada.key)
        assert signin.check_code(ada.user, now, source="test") == "totp"
        with pytest.raises(SignInRefused, match="has been used"):
            signin.check_code(ada.user, before, source="test")


@pytest.mark.parametrize(
    ("seconds", "good"), [(-11, False), (-10, True), (0, True), (29, True), (39, True), (41, False), (90, False)]
)
def test_a_code_counts_for_its_thirty_seconds_and_ten_on_either_side(ada, seconds, good):
    start = clock.now().replace(second=0, microsecond=0)
    with time_machine.travel(start, tick=False):
        code = code_for(ada.key)
    with time_machine.travel(start + timedelta(seconds=seconds), tick=False):
        try:
            assert signin.check_code(ada.user, code, source="test") == "totp"
        except SignInRefused:
            assert not good
        else:
            assert good


def test_a_clock_set_back_reopens_no_code(ada):
    code = code_for(ada.key)
    signin.check_code(ada.user, code, source="test")
    with time_machine.travel(clock.now() - timedelta(seconds=60)), pytest.raises(SignInRefused, match="used"):
        signin.check_code(ada.user, code_for(ada.key), source="test")


@pytest.mark.parametrize(
    "username", ["ada", "nobody", "ADA", "\u0430\u0434\u0430", "ada\u200b", "x" * 64, "'; --", "%_"]
)
def test_a_wrong_password_and_an_unknown_name_are_told_the_same(ada, username):
    answer = post(browser(), "/sign-in", username=username, password="not the password at all")
    known = post(browser(), "/sign-in", username="ada", password="not the password at all")
    assert answer.status_code == known.status_code == 401
    assert "The user name or the password is wrong." in words(answer)


@pytest.mark.parametrize(
    "fields",
    [
        {"username": "", "password": ""},
        {"username": "ada", "password": ""},
        {"username": "a" * 10_000, "password": "x"},
        {"username": "ada", "password": "p" * 10_000},
        {"username": "ada\0", "password": "x"},
        {"username": "ada", "password": "nul\0"},
        {},
    ],
)
def test_what_cannot_be_a_guess_is_not_counted(ada, fields):
    answer = post(browser(), "/sign-in", **fields)
    assert answer.status_code == 422
    assert not GuessCount.objects.exists()


@pytest.mark.parametrize(
    "code",
    ["", "12345", "1234567", "abc", "\uff11\uff12\uff13\uff14\uff15\uff16", "🂡" * 6, "0" * 10_000, "12\x0034 56"],
)
def test_what_cannot_be_a_code_is_not_counted(ada, code):
    client = half_way(ada)
    answer = post(client, "/sign-in/code", code=code)
    assert answer.status_code == 422
    assert not GuessCount.objects.filter(key__startswith="code:").exists()
    assert post(client, "/sign-in/code", code=code_for(ada.key)).status_code == 302


def test_nothing_typed_comes_back_but_the_name(ada):
    page = words(post(browser(), "/sign-in", username="ada", password="hunter2 hunter2"))
    assert "hunter2" not in page and 'value="ada"' in page
    wrong = wrong_code_for(ada.key)
    assert wrong not in words(post(half_way(ada), "/sign-in/code", code=wrong))


def test_the_tenth_wrong_guess_locks_the_name_for_the_right_password_too(ada):
    for _ in range(10):
        assert post(browser(), "/sign-in", username="ada", password="wrong wrong wrong").status_code == 401
    locked = post(browser(), "/sign-in", username="ada", password=PASSWORD)
    assert locked.status_code == 429 and 0 < int(locked["Retry-After"]) <= 900
    assert "flux_admin unlock" in words(locked)


def test_an_unknown_name_locks_alike(ada):
    answers = [post(browser(), "/sign-in", username="nobody", password="wrong wrong wrong") for _ in range(11)]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429]


def test_the_lock_ends_by_itself_after_a_quarter_of_an_hour(ada):
    for _ in range(10):
        post(browser(), "/sign-in", username="ada", password="wrong wrong wrong")
    with time_machine.travel(clock.now() + timedelta(minutes=14)):
        assert post(browser(), "/sign-in", username="ada", password=PASSWORD).status_code == 429
    with time_machine.travel(clock.now() + timedelta(minutes=15, seconds=1)):
        half_way(ada)


def test_no_day_sees_more_than_a_hundred_guesses(ada):
    looked_at = 0
    start = clock.now()
    for quarter in range(24 * 4):
        with time_machine.travel(start + timedelta(minutes=15 * quarter, seconds=quarter)):
            for _ in range(11):
                try:
                    signin.check_password("ada", "wrong wrong wrong", source="test")
                except NameLocked:
                    break
                except SignInRefused:
                    looked_at += 1
    assert 10 < looked_at <= 100


def test_right_passwords_use_up_no_guesses(ada):
    for _ in range(15):
        half_way(ada)


def test_five_wrong_codes_close_the_second_step_for_five_minutes(ada):
    wrong = wrong_code_for(ada.key)
    client = half_way(ada)
    assert [post(client, "/sign-in/code", code=wrong).status_code for _ in range(6)] == [401] * 5 + [429]
    assert post(half_way(ada), "/sign-in/code", code=code_for(ada.key)).status_code == 429
    with time_machine.travel(clock.now() + timedelta(minutes=5, seconds=1)):
        assert post(half_way(ada), "/sign-in/code", code=code_for(ada.key)).status_code == 302


def test_a_right_sign_in_or_fresh_code_gives_nobody_else_more_guesses(ada):
    def guess() -> int:
        return post(browser(), "/sign-in", username="ada", password="wrong wrong wrong").status_code

    client = ada.sign_in()
    assert [guess() for _ in range(5)] == [401] * 5
    ada.sign_in()
    assert [guess() for _ in range(4)] == [401] * 4
    post(client, "/fresh-code", code=ada.codes.pop())
    assert [guess() for _ in range(3)] == [401, 429, 429]


def test_right_codes_give_back_only_their_own_guess(ada):
    wrong = wrong_code_for(ada.key)
    client = half_way(ada)
    for _ in range(4):
        assert post(client, "/sign-in/code", code=wrong).status_code == 401
    signin.check_code(ada.user, ada.codes.pop(), source="test", action="step_up")
    assert [post(client, "/sign-in/code", code=wrong).status_code for _ in range(2)] == [401, 429]


def test_a_clock_set_back_opens_no_lock_no_half_sign_in_and_no_fresh_code(ada):
    client, half = ada.sign_in(), half_way(ada)
    for _ in range(10):
        post(browser(), "/sign-in", username="ada", password="wrong wrong wrong")
    with time_machine.travel(clock.now() - timedelta(days=2)):
        assert post(browser(), "/sign-in", username="ada", password=PASSWORD).status_code == 429
        assert half.get("/sign-in/code").status_code == 302
        assert client.get("/account/password").status_code == 302


@pytest.mark.parametrize(("rule", "most", "within"), [("PASSWORD", 10, 15), ("CODE", 5, 5)])
def test_no_span_of_time_sees_more_guesses_than_promised(db, rule, most, within):
    """Somebody patient guesses every minute for three days."""
    looked_at, start = [], clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    for minute in range(3 * 24 * 60):
        if minute % 1440 in range(60, 1380) and minute % 7:
            continue  # the hours around midnight closely, the others now and then
        with time_machine.travel(start + timedelta(minutes=minute), tick=False):
            if not guesses.take("test", getattr(guesses, rule)):
                looked_at.append(minute)
    assert max(sum(at <= other < at + within for other in looked_at) for at in looked_at) <= most
    in_a_day = max(sum(at <= other < at + 1440 for other in looked_at) for at in looked_at)
    assert 25 < in_a_day <= 100


def test_counts_are_forgotten_after_a_day_and_not_before(ada):
    for _ in range(10):
        post(browser(), "/sign-in", username="ada", password="wrong wrong wrong")
    assert guesses.forget_old() == 0
    with time_machine.travel(clock.now() + timedelta(hours=24, seconds=1)):
        assert guesses.forget_old() == 1


def test_a_guess_nobody_had_time_for_is_not_counted(ada, monkeypatch):
    monkeypatch.setattr(hashing, "_WAIT_SECONDS", 0.01)
    for _ in range(hashing.AT_ONCE):
        hashing._places.acquire()
    try:
        for _ in range(11):
            answer = post(browser(), "/sign-in", username="ada", password=PASSWORD)
            assert answer.status_code == 503 and answer["Retry-After"]
    finally:
        for _ in range(hashing.AT_ONCE):
            hashing._places.release()
    half_way(ada)


def test_no_more_than_two_passwords_are_looked_at_at_once(monkeypatch):
    """Each takes a hundred mebibytes: a crowd at the door must not be the end of the machine."""
    now, most, lock = 0, 0, threading.Lock()

    def slow(*given):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1
        return "hash"

    hashing._nobody.cache_clear()
    monkeypatch.setattr(hashing, "make_password", slow)
    monkeypatch.setattr(hashing, "check_password", slow)
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda _: hashing.matches("x", None), range(12)))
        list(pool.map(lambda _: hashing.hashed("x"), range(12)))
    hashing._nobody.cache_clear()
    assert most == 2


def test_the_hash_of_nobody_is_looked_at_for_names_nobody_has(ada, monkeypatch):
    looked_at = []
    monkeypatch.setattr(hashing, "check_password", lambda password, known: looked_at.append(known) or False)
    for name in ("nobody", "ada"):
        post(browser(), "/sign-in", username=name, password="wrong wrong wrong")
    assert len(looked_at) == 2 and looked_at[0].startswith("argon2") and looked_at[1] == ada.user.password


def test_the_owner_lifts_the_lock_from_the_shell_and_comes_in_while_others_go_on_guessing(ada):
    for _ in range(10):
        post(browser(), "/sign-in", username="ada", password="wrong wrong wrong")
    secret = people.unlock(shell(), username="ada")["secret"]
    # Somebody uses up the name's guesses again at once.
    for _ in range(11):
        post(browser(), "/sign-in", username="ada", password="wrong wrong wrong")
    owner = browser()
    assert owner.get(f"/enrol/{secret}")["Location"] == "/sign-in"
    ada.sign_in(owner)
    assert is_in(owner)
    assert browser().get(f"/enrol/{secret}").status_code == 404


def test_an_unlock_link_has_ten_guesses_of_its_own(ada):
    secret = people.unlock(shell(), username="ada")["secret"]
    thief = browser()
    thief.get(f"/enrol/{secret}")
    answers = [post(thief, "/sign-in", username="ada", password="wrong wrong wrong").status_code for _ in range(11)]
    assert answers == [401] * 10 + [429]


def test_an_unlock_link_has_codes_of_its_own_too(ada):
    """Somebody who knows the password uses up the codes."""
    wrong = wrong_code_for(ada.key)
    client = half_way(ada)
    for _ in range(6):
        post(client, "/sign-in/code", code=wrong)
    secret = people.unlock(shell(), username="ada")["secret"]
    for _ in range(6):
        post(client, "/sign-in/code", code=wrong)
    owner = browser()
    owner.get(f"/enrol/{secret}")
    ada.sign_in(owner)
    assert is_in(owner)


def test_an_unlock_link_that_has_expired_is_worth_nothing(ada):
    secret = people.unlock(shell(), username="ada")["secret"]
    owner = browser()
    owner.get(f"/enrol/{secret}")
    with time_machine.travel(clock.now() + timedelta(minutes=15, seconds=1)):
        for _ in range(10):
            post(browser(), "/sign-in", username="ada", password="wrong wrong wrong")
        assert post(owner, "/sign-in", username="ada", password=PASSWORD).status_code == 429


def test_unlocking_leaves_an_open_invitation_open(ada, space):
    invited = people.invite(shell(), username="grace", space="home", role="viewer")["secret"]
    people.unlock(shell(), username="grace")
    assert browser().get(f"/enrol/{invited}").status_code == 200


def test_an_unlock_link_is_for_its_person_alone(ada, person):
    person("grace")
    secret = people.unlock(shell(), username="ada")["secret"]
    for _ in range(10):
        post(browser(), "/sign-in", username="grace", password="wrong wrong wrong")
    thief = browser()
    thief.get(f"/enrol/{secret}")
    assert post(thief, "/sign-in", username="grace", password=PASSWORD).status_code == 429


def test_the_second_step_waits_five_minutes(ada):
    client = half_way(ada)
    with time_machine.travel(clock.now() + timedelta(minutes=5, seconds=1)):
        late = post(client, "/sign-in/code", code=code_for(ada.key))
        assert late.status_code == 302 and late["Location"] == "/sign-in"
        assert "longer than five minutes" in words(client.get("/sign-in"))
    assert not is_in(client)


def test_the_second_step_cannot_be_taken_first(ada):
    answer = browser().get("/sign-in/code")
    assert answer.status_code == 302 and answer["Location"] == "/sign-in"


@pytest.mark.parametrize("change", ["password", "stopped"])
def test_a_half_sign_in_ends_when_the_account_changes(ada, person, change):
    person("grace")
    client = half_way(ada)
    if change == "stopped":
        people.switch(shell(), username="ada", active=False)
    else:
        ada.user.set_password("another long password")
        ada.user.save()
    assert post(client, "/sign-in/code", code=code_for(ada.key)).status_code in (302, 403)
    assert not is_in(client)


@pytest.mark.parametrize(
    "target",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "\t//evil.example",
     "http:///evil.example", "///evil.example", "/%0d%0aSet-Cookie:x=1\r\nX: y", "x" * 5000, "/" + "x" * 5000, "@evil"],
)  # fmt: skip
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
    assert answer.status_code == 403 and "Please try once more" in words(answer)


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


def test_unknown_names_are_counted_by_source_and_minute(ada):
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


def test_the_password_is_argon2id_of_nineteen_mebibytes_and_two_passes_or_more():
    from django.contrib.auth.hashers import get_hasher

    from fluxsite import settings as site

    assert site.PASSWORD_HASHERS == ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    hasher = type(get_hasher("argon2")).__mro__[1]()  # the production one, under the cheap one of the tests
    assert hasher.memory_cost >= 19 * 1024 and hasher.time_cost >= 2
    assert "argon2id" in get_hasher("argon2").encode("x", "saltsaltsalt")


def test_a_guess_key_hides_its_name():
    assert "ada" not in guesses.password_key("ada")
    assert guesses.password_key("Ada") == guesses.password_key("ada")
