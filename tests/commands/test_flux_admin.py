"""flux_admin: whoever runs the machine can always make, help and shut out a person"""

from __future__ import annotations

import base64

import pytest

from accounts.models import AuditEntry, Authenticator, Enrolment, GuessCount, Membership, User
from accounts.signin import credentials, links, lockout
from fluxcore.errors import SignInRefused
from fluxcore.writes import booth
from tests.dashboard.conftest import PASSWORD, code_for

KEY = bytes(range(20))


@pytest.fixture
def files(tmp_path):
    (tmp_path / "password").write_text(PASSWORD + "\n")
    (tmp_path / "key").write_text(base64.b32encode(KEY).decode())
    return tmp_path


@pytest.fixture
def create(run, files):
    def call(name="ada", *more):
        return run(
            "flux_admin",
            "create",
            name,
            "--password-file",
            str(files / "password"),
            "--totp-key-file",
            str(files / "key"),
            "--totp-code",
            code_for(KEY),
            "--json",
            *more,
        )

    return call


def test_create_makes_an_administrator_with_a_second_factor(create):
    assert create("ada", "--reason", "first day").json() == {"username": "ada", "second_factor": True}
    user = User.objects.get()
    assert user.is_superuser and user.check_password(PASSWORD)
    assert Authenticator.objects.get().user == user
    entry = AuditEntry.objects.get(action="people.create_administrator")
    assert entry.reason == "first day" and entry.actor.startswith("shell:")


def test_the_first_code_is_spent(standing_clock, create):
    create()
    with pytest.raises(SignInRefused, match="used"):
        credentials.check_code(User.objects.get(), code_for(KEY), source="test")


def test_create_refuses_a_wrong_first_code_and_makes_nobody(run, files):
    said = run(
        "flux_admin",
        "create",
        "ada",
        "--password-file",
        str(files / "password"),
        "--totp-key-file",
        str(files / "key"),
        "--totp-code",
        "000000",
        "--json",
    )
    assert said.status == 65 and said.json()["error"]["details"]["field"] == "totp_code"
    assert not User.objects.exists()


def test_a_second_administrator_of_the_name_is_refused(create):
    create()
    said = create()
    assert said.status == 75 and "already a person" in said.json()["error"]["message"]


@pytest.mark.parametrize("twin", ["\u0430da", "Ada", "ad\u0251"])
def test_a_name_that_looks_like_another_is_refused_with_its_letters_spelt_out(create, twin):
    create()
    said = create(twin)
    assert said.status == 75 and "looks like" in said.json()["error"]["message"]
    assert ("LETTER A" in said.json()["error"]["message"]) == (not twin.isascii())
    assert User.objects.count() == 1


@pytest.mark.parametrize("filler", ["\u115f", "\u1160", "\u3164", "\uffa0"])
def test_a_name_has_no_letter_that_cannot_be_seen(create, filler):
    assert create(f"ada{filler}").status == 65
    assert not User.objects.exists()


def test_a_key_of_another_length_is_refused(create, files):
    for length in (10, 200):
        (files / "key").write_text(base64.b32encode(bytes(length)).decode())
        assert create().status == 65


def test_invite_hands_out_a_link_with_a_role(run, space):
    said = run("flux_admin", "invite", "grace", "--space", "home", "--role", "operator", "--json").json()
    assert said["username"] == "grace" and said["link"].startswith("/enrol/")
    assert links.find(said["link"].removeprefix("/enrol/")).purpose == Enrolment.Purpose.ACCOUNT
    assert Membership.objects.get().role == "operator"
    assert not User.objects.get().is_superuser and not User.objects.get().has_usable_password()


def test_invite_can_make_an_administrator(run):
    run("flux_admin", "invite", "grace", "--administrator")
    assert User.objects.get().is_superuser


@pytest.mark.parametrize(
    "arguments",
    [
        ["--space", "home"],
        ["--role", "owner"],
        [],
        ["--space", "home", "--role", "king"],
        ["--space", "nowhere", "--role", "owner"],
    ],
)
def test_invite_wants_a_space_and_a_role_that_exist(run, space, arguments):
    assert run("flux_admin", "invite", "grace", *arguments, "--json").status in (65, 66)
    assert not User.objects.exists()


def test_role_gives_changes_and_takes_away(run, space):
    run("flux_admin", "invite", "grace", "--space", "home", "--role", "operator")
    for role in ("viewer", "owner"):
        run("flux_admin", "role", "grace", "--space", "home", "--role", role)
        assert Membership.objects.get().role == role
    run("flux_admin", "role", "grace", "--space", "home")
    assert not Membership.objects.exists()
    found = AuditEntry.objects.filter(action="people.set_role").order_by("seq")
    assert [entry.chain for entry in found] == [space.uuid.hex] * 3
    assert '"after":"","before":"owner"' in found.last().details


def test_unlock_lifts_the_lock_and_hands_out_a_link(run, create):
    create()
    key = lockout.password_key("ada")
    for _ in range(11):
        booth.write(lambda: lockout.count_guess(key, lockout.PASSWORD))
    assert run("flux_admin", "list", "--json").json()["people"][0]["locked"]
    said = run("flux_admin", "unlock", "ada", "--json").json()
    assert links.find(said["link"].removeprefix("/enrol/")).purpose == Enrolment.Purpose.UNLOCK
    assert not GuessCount.objects.exists()
    assert not run("flux_admin", "list", "--json").json()["people"][0]["locked"]


def test_reset_takes_the_second_factor_away_and_keeps_the_password(run, create):
    create()
    said = run("flux_admin", "reset", "ada", "--json").json()
    assert not Authenticator.objects.exists()
    assert User.objects.get().check_password(PASSWORD)
    assert links.find(said["link"].removeprefix("/enrol/")).purpose == Enrolment.Purpose.FACTOR


def test_reset_can_take_the_password_too(run, create):
    create()
    said = run("flux_admin", "reset", "ada", "--password", "--json").json()
    assert not User.objects.get().has_usable_password()
    assert links.find(said["link"].removeprefix("/enrol/")).purpose == Enrolment.Purpose.ACCOUNT


def test_the_only_administrator_is_not_stopped(run, create):
    create()
    assert run("flux_admin", "stop", "ada", "--json").status == 75
    create("grace")
    assert run("flux_admin", "stop", "ada").status == 0
    assert not User.objects.get(username="ada").is_active
    run("flux_admin", "resume", "ada")
    assert User.objects.get(username="ada").is_active


def test_link_is_for_an_instance_nobody_looks_after(run, create):
    said = run("flux_admin", "link", "--json").json()
    assert links.find(said["link"].removeprefix("/enrol/")).purpose == Enrolment.Purpose.FIRST
    create()
    assert run("flux_admin", "link", "--json").status == 75


def test_list_shows_who_there_is_and_who_looks_like_whom(run, create):
    assert "No people yet" in run("flux_admin", "list").text
    create()
    User.objects.create(username="\u0430da")  # from before names were compared
    said = run("flux_admin", "list").text
    assert "administrator" in said and said.count("looks like") == 2


def test_no_secret_of_a_link_is_on_the_chain(run, create):
    create()
    secret = run("flux_admin", "reset", "ada", "--json").json()["link"].removeprefix("/enrol/")
    assert secret not in str(list(AuditEntry.objects.values())) + str(list(Enrolment.objects.values()))
