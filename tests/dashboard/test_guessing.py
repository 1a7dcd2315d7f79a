"""/sign-in against those who try many passwords: counted, locked, and never many at once"""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import time_machine

from accounts.models import GuessCount
from accounts.signin import credentials, lockout, passwords
from fluxcore import clock
from fluxcore.errors import NameLocked, SignInRefused
from tests.dashboard.conftest import PASSWORD, browser, half_way, post, send, words


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
    answer = send(browser(), "/sign-in", **fields)
    assert answer.status_code == 422
    assert not GuessCount.objects.exists()


def test_the_tenth_wrong_guess_locks_the_name_for_the_right_password_too(ada):
    for _ in range(10):
        assert send(browser(), "/sign-in", username="ada", password="wrong wrong wrong").status_code == 401
    locked = send(browser(), "/sign-in", username="ada", password=PASSWORD)
    assert locked.status_code == 429 and 0 < int(locked["Retry-After"]) <= 900
    assert "flux_admin unlock" in words(locked)


def test_an_unknown_name_locks_alike(ada):
    answers = [send(browser(), "/sign-in", username="nobody", password="wrong wrong wrong") for _ in range(11)]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429]


def test_the_lock_ends_by_itself_after_a_quarter_of_an_hour(ada):
    for _ in range(10):
        send(browser(), "/sign-in", username="ada", password="wrong wrong wrong")
    with time_machine.travel(clock.now() + timedelta(minutes=14)):
        assert send(browser(), "/sign-in", username="ada", password=PASSWORD).status_code == 429
    with time_machine.travel(clock.now() + timedelta(minutes=15, seconds=1)):
        half_way(ada)


def test_no_day_sees_more_than_a_hundred_guesses(ada):
    looked_at = 0
    start = clock.now()
    for quarter in range(24 * 4):
        with time_machine.travel(start + timedelta(minutes=15 * quarter, seconds=quarter)):
            for _ in range(11):
                try:
                    credentials.check_password("ada", "wrong wrong wrong", source="test")
                except NameLocked:
                    break
                except SignInRefused:
                    looked_at += 1
    assert 10 < looked_at <= 100


def test_right_passwords_use_up_no_guesses(ada):
    for _ in range(15):
        half_way(ada)


def test_a_right_sign_in_or_fresh_code_gives_nobody_else_more_guesses(ada):
    def guess() -> int:
        return send(browser(), "/sign-in", username="ada", password="wrong wrong wrong").status_code

    client = ada.sign_in()
    assert [guess() for _ in range(5)] == [401] * 5
    ada.sign_in()
    assert [guess() for _ in range(4)] == [401] * 4
    post(client, "/fresh-code", code=ada.codes.pop())
    assert [guess() for _ in range(3)] == [401, 429, 429]


def test_a_clock_set_back_opens_no_lock_no_half_sign_in_and_no_fresh_code(ada):
    client, half = ada.sign_in(), half_way(ada)
    for _ in range(10):
        send(browser(), "/sign-in", username="ada", password="wrong wrong wrong")
    with time_machine.travel(clock.now() - timedelta(days=2)):
        assert send(browser(), "/sign-in", username="ada", password=PASSWORD).status_code == 429
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
            if not lockout.count_guess("test", getattr(lockout, rule)):
                looked_at.append(minute)
    assert max(sum(at <= other < at + within for other in looked_at) for at in looked_at) <= most
    in_a_day = max(sum(at <= other < at + 1440 for other in looked_at) for at in looked_at)
    assert 25 < in_a_day <= 100


def test_counts_are_forgotten_after_a_day_and_not_before(ada):
    for _ in range(10):
        send(browser(), "/sign-in", username="ada", password="wrong wrong wrong")
    assert lockout.forget_old() == 0
    with time_machine.travel(clock.now() + timedelta(hours=24, seconds=1)):
        assert lockout.forget_old() == 1


def test_a_guess_nobody_had_time_for_is_not_counted(ada, monkeypatch):
    monkeypatch.setattr(passwords, "_WAIT_SECONDS", 0.01)
    for _ in range(passwords.AT_ONCE):
        passwords._places.acquire()
    try:
        for _ in range(11):
            answer = send(browser(), "/sign-in", username="ada", password=PASSWORD)
            assert answer.status_code == 503 and answer["Retry-After"]
    finally:
        for _ in range(passwords.AT_ONCE):
            passwords._places.release()
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

    passwords._decoy_hash.cache_clear()
    monkeypatch.setattr(passwords, "make_password", slow)
    monkeypatch.setattr(passwords, "check_password", slow)
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda _: passwords._timed("x", None), range(12)))
        list(pool.map(lambda _: passwords.hash_password("x"), range(12)))
    passwords._decoy_hash.cache_clear()
    assert most == 2


def test_the_hash_of_nobody_is_looked_at_for_names_nobody_has(ada, monkeypatch):
    looked_at = []
    monkeypatch.setattr(passwords, "check_password", lambda password, known: looked_at.append(known) or False)
    for name in ("nobody", "ada"):
        send(browser(), "/sign-in", username=name, password="wrong wrong wrong")
    assert len(looked_at) == 2 and looked_at[0].startswith("argon2") and looked_at[1] == ada.user.password


def test_the_password_is_argon2id_of_nineteen_mebibytes_and_two_passes_or_more():
    from django.contrib.auth.hashers import get_hasher

    from fluxsite import settings as site

    assert site.PASSWORD_HASHERS == ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    hasher = type(get_hasher("argon2")).__mro__[1]()  # the production one, under the cheap one of the tests
    assert hasher.memory_cost >= 19 * 1024 and hasher.time_cost >= 2
    assert "argon2id" in get_hasher("argon2").encode("x", "saltsaltsalt")


def test_a_guess_key_hides_its_name():
    assert "ada" not in lockout.password_key("ada")
    assert lockout.password_key("Ada") == lockout.password_key("ada")


def test_invented_names_delay_no_right_password_and_wrong_ones_wait_alike(ada):
    """Whoever waits behind a flood learns nothing: names that exist and names that do not are answered in one line."""
    flood = passwords._waiting.join("203.0.113.7", "invented")
    assert flood.granted
    done, pool = [], ThreadPoolExecutor(2)

    def guess(known):
        right = passwords.check_attempt("wrong wrong wrong", known, source="127.0.0.1", name=f"{known}")
        done.append(right)

    try:
        waiting = [pool.submit(guess, known) for known in (ada.user.password, None)]
        half_way(ada)  # at once, though the line does not move
        assert done == []
    finally:
        flood.leave()
        for one in waiting:
            one.result(20)
        pool.shutdown()
    assert done == [False, False]


def test_a_source_has_so_many_tries_a_minute_and_a_right_password_is_not_refused(ada, monkeypatch):
    monkeypatch.setattr(passwords, "TRIES_PER_SOURCE", 3)
    monkeypatch.setattr(passwords, "REFUSED_AFTER", 0.01)
    for number in range(3):
        answer = send(browser(), "/sign-in", username=f"invented{number}", password="wrong wrong wrong")
        assert answer.status_code == 401
    looked_at = []
    monkeypatch.setattr(
        passwords,
        "check_password",
        lambda *given, look=passwords.check_password: looked_at.append(given) or look(*given),
    )
    refusals = [
        send(browser(), "/sign-in", username=name, password="wrong wrong wrong") for name in ("invented9", "ada")
    ]
    assert [answer.status_code for answer in refusals] == [429, 429]
    assert all(0 < int(answer["Retry-After"]) <= 61 for answer in refusals)
    said = [re.sub(r'value="[^"]*"', "", words(answer)) for answer in refusals]
    assert said[0] == said[1] and "from one address" in said[0]
    assert len(looked_at) == 1  # the invented name cost nothing
    half_way(ada)
