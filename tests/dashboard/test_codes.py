"""The second step of /sign-in: each code works once and for its time, and few are looked at"""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine

from accounts import people
from accounts.models import BackupCode, GuessCount
from accounts.principals import shell
from accounts.signin import credentials
from fluxcore import clock
from fluxcore.errors import SignInRefused
from tests.dashboard.conftest import browser, code_for, half_way, is_in, send, words, wrong_code_for


def test_a_backup_code_lets_a_person_in_once(ada):
    code = ada.codes[0]
    assert send(half_way(ada), "/sign-in/code", code=code.upper().replace("-", " ")).status_code == 302
    again = send(half_way(ada), "/sign-in/code", code=code)
    assert again.status_code == 401 and "has been used" in words(again)
    assert BackupCode.objects.filter(used_at=None).count() == 9


def test_a_code_works_once(standing_clock, ada):
    code = code_for(ada.key)
    assert send(half_way(ada), "/sign-in/code", code=code).status_code == 302
    for _ in range(20):
        again = send(half_way(ada), "/sign-in/code", code=code)
        assert again.status_code == 401 and "has been used" in words(again)


def test_the_predecessor_of_a_used_code_is_spent_with_it(ada):
    start = clock.now().replace(second=0, microsecond=0)
    with time_machine.travel(start + timedelta(seconds=35), tick=False):
        before, now = code_for(ada.key, ahead=-1), code_for(ada.key)
        assert credentials.check_code(ada.user, now, source="test") == "totp"
        with pytest.raises(SignInRefused, match="has been used"):
            credentials.check_code(ada.user, before, source="test")


@pytest.mark.parametrize(
    ("seconds", "good"), [(-11, False), (-10, True), (0, True), (29, True), (39, True), (41, False), (90, False)]
)
def test_a_code_counts_for_its_thirty_seconds_and_ten_on_either_side(ada, seconds, good):
    start = clock.now().replace(second=0, microsecond=0)
    with time_machine.travel(start, tick=False):
        code = code_for(ada.key)
    with time_machine.travel(start + timedelta(seconds=seconds), tick=False):
        try:
            assert credentials.check_code(ada.user, code, source="test") == "totp"
        except SignInRefused:
            assert not good
        else:
            assert good


def test_a_clock_set_back_reopens_no_code(ada):
    code = code_for(ada.key)
    credentials.check_code(ada.user, code, source="test")
    with time_machine.travel(clock.now() - timedelta(seconds=60)), pytest.raises(SignInRefused, match="used"):
        credentials.check_code(ada.user, code_for(ada.key), source="test")


@pytest.mark.parametrize(
    "code",
    ["", "12345", "1234567", "abc", "\uff11\uff12\uff13\uff14\uff15\uff16", "🂡" * 6, "0" * 10_000, "12\x0034 56"],
)
def test_what_cannot_be_a_code_is_not_counted(ada, code):
    client = half_way(ada)
    answer = send(client, "/sign-in/code", code=code)
    assert answer.status_code == 422
    assert not GuessCount.objects.filter(key__startswith="code:").exists()
    assert send(client, "/sign-in/code", code=code_for(ada.key)).status_code == 302


def test_five_wrong_codes_close_the_second_step_for_five_minutes(ada):
    wrong = wrong_code_for(ada.key)
    client = half_way(ada)
    assert [send(client, "/sign-in/code", code=wrong).status_code for _ in range(6)] == [401] * 5 + [429]
    assert send(half_way(ada), "/sign-in/code", code=code_for(ada.key)).status_code == 429
    with time_machine.travel(clock.now() + timedelta(minutes=5, seconds=1)):
        assert send(half_way(ada), "/sign-in/code", code=code_for(ada.key)).status_code == 302


def test_right_codes_give_back_only_their_own_guess(ada):
    wrong = wrong_code_for(ada.key)
    client = half_way(ada)
    for _ in range(4):
        assert send(client, "/sign-in/code", code=wrong).status_code == 401
    credentials.check_code(ada.user, ada.codes.pop(), source="test", action="step_up")
    assert [send(client, "/sign-in/code", code=wrong).status_code for _ in range(2)] == [401, 429]


def test_the_second_step_waits_five_minutes(ada):
    client = half_way(ada)
    with time_machine.travel(clock.now() + timedelta(minutes=5, seconds=1)):
        late = send(client, "/sign-in/code", code=code_for(ada.key))
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
    assert send(client, "/sign-in/code", code=code_for(ada.key)).status_code in (302, 403)
    assert not is_in(client)
