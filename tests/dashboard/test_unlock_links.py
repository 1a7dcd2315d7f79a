"""Unlock links: the owner of a locked name comes in while somebody else goes on guessing"""

from __future__ import annotations

from datetime import timedelta

import time_machine

from accounts import people
from accounts.principals import shell
from fluxcore import clock
from tests.dashboard.conftest import PASSWORD, browser, half_way, is_in, post, send, wrong_code_for


def test_the_owner_lifts_the_lock_from_the_shell_and_comes_in_while_others_go_on_guessing(ada):
    for _ in range(10):
        send(browser(), "/sign-in", username="ada", password="wrong wrong wrong")
    secret = people.unlock(shell(), username="ada")["secret"]
    # Somebody uses up the name's guesses again at once.
    for _ in range(11):
        send(browser(), "/sign-in", username="ada", password="wrong wrong wrong")
    owner = browser()
    assert owner.get(f"/enrol/{secret}")["Location"] == "/sign-in"
    ada.sign_in(owner)
    assert is_in(owner)
    assert browser().get(f"/enrol/{secret}").status_code == 404


def test_an_unlock_link_has_ten_guesses_of_its_own(ada):
    secret = people.unlock(shell(), username="ada")["secret"]
    thief = browser()
    thief.get(f"/enrol/{secret}")
    answers = [send(thief, "/sign-in", username="ada", password="wrong wrong wrong").status_code for _ in range(11)]
    assert answers == [401] * 10 + [429]


def test_an_unlock_link_has_codes_of_its_own_too(ada):
    """Somebody who knows the password uses up the codes."""
    wrong = wrong_code_for(ada.key)
    client = half_way(ada)
    for _ in range(6):
        send(client, "/sign-in/code", code=wrong)
    secret = people.unlock(shell(), username="ada")["secret"]
    for _ in range(6):
        send(client, "/sign-in/code", code=wrong)
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
            send(browser(), "/sign-in", username="ada", password="wrong wrong wrong")
        assert post(owner, "/sign-in", username="ada", password=PASSWORD).status_code == 429


def test_unlocking_leaves_an_open_invitation_open(ada, space):
    invited = people.invite(shell(), username="grace", space="home", role="viewer")["secret"]
    people.unlock(shell(), username="grace")
    assert browser().get(f"/enrol/{invited}").status_code == 200


def test_an_unlock_link_is_for_its_person_alone(ada, person):
    person("grace")
    secret = people.unlock(shell(), username="ada")["secret"]
    for _ in range(10):
        send(browser(), "/sign-in", username="grace", password="wrong wrong wrong")
    thief = browser()
    thief.get(f"/enrol/{secret}")
    assert send(thief, "/sign-in", username="grace", password=PASSWORD).status_code == 429
