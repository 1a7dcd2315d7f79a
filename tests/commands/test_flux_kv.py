"""flux_kv and flux_board"""

from __future__ import annotations

import pytest
from django.core.management import load_command_class

from fluxcore.command_names import typed_command


@pytest.fixture
def kv(run):
    run("flux_space", "create", "main")
    run("flux_agent", "create", "helper")
    return lambda *words: run("flux_kv", *words)


def test_the_seeds_own_session(kv):
    assert kv("write", "helper", "config", '{"theme": "dark"}').text.strip() == "config is at version 1"
    assert kv("read", "helper", "config").text.strip() == '{"theme": "dark"}'
    assert kv("write", "helper", "session-token", '"abc123"', "--ttl", "3600", "--json").json()["expires_at"]
    assert kv("write", "helper", "counter", "1").status == 0
    assert kv("cas", "helper", "counter", "1", '"new-value"').text.strip() == "counter is at version 2"
    refused = kv("cas", "helper", "counter", "1", "3", "--json")
    assert (refused.status, refused.json()["error"]["code"]) == (75, "conflict")
    assert refused.json()["error"]["details"]["current_value"] == "new-value"
    assert kv("delete", "helper", "session-token").text.strip() == "Deleted."
    assert kv("delete", "helper", "session-token").text.strip() == "Key not found."
    kv("write", "helper", "cache.a", "1")
    assert [one["key"] for one in kv("list", "helper", "--pattern", "cache.*", "--json").json()["keys"]] == ["cache.a"]
    assert "counter" in kv("list", "helper", "--values").text
    assert kv("read", "helper", "session-token").status == 66


def test_a_conflict_says_which_version_is_there(kv, capsys):
    for number in range(3):
        kv("write", "helper", "n", str(number))
    assert kv("delete", "helper", "n", "--expected-version", "1").status == 75
    assert kv("cas", "helper", "nowhere", "1", "2").status == 75
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "conflict: It has changed since you read it: it now has version 3.",
        "conflict: It has changed since you read it: it does not exist.",
    ]


def test_the_other_steps(kv):
    assert kv("incr", "helper", "n", "5", "--json").json()["value"] == 5
    assert kv("append", "helper", "l", '"x"', "--json").json()["value"] == ["x"]
    assert kv("patch", "helper", "o", '{"a": 1}', "--json").json()["value"] == {"a": 1}
    assert kv("touch", "helper", "n", "--ttl", "60", "--json").json()["version"] == 1
    kv("incr", "helper", "n", "1")
    assert "written" in kv("history", "helper", "n").text
    assert kv("history", "helper", "n", "--at", "1").text.strip() == "5"
    assert kv("restore", "helper", "n", "1", "--json").json()["version"] == 3
    assert kv("delete", "helper", "n", "--expected-version", "1").status == 75


def test_purge_takes_the_key_once_more_and_leaves_no_version(run, kv):
    for words in (("flux_kv", "purge", "helper", "pin"), ("flux_board", "purge", "pin")):
        write = [*words[:1], "write", *words[2:]]
        run(*write, "1111")
        run(*write, "2222")
        for wrong in ((), ("--confirm", "other")):
            assert run(*words, *wrong).status == 65
        history = [*words[:1], "history", *words[2:], "--json"]
        assert len(run(*history).json()["versions"]) == 2
        purged = run(*words, "--confirm", "pin").text.strip()
        assert purged == f"Purged. Earlier backups still contain it: {typed_command('flux_backup list')}."
        assert run(*history).json()["versions"] == []
        assert run(*words, "--confirm", "pin").text.strip() == "Nothing to purge."


def test_boards_locks_and_queues(run, kv):
    assert run("flux_board", "cas", "lock", "null", '"me"').text.strip() == "lock is at version 1"
    assert run("flux_board", "cas", "lock", "null", '"you"').status == 75
    assert run("flux_board", "cas", "lock", '"me"', "null").text.strip() == "Deleted."
    assert run("flux_board", "make", "ops", "--ephemeral").text.strip() == "Created board ops."
    assert run("flux_board", "make", "ops", "--ephemeral").text.strip() == "Board ops already exists."
    run("flux_board", "write", "a", "1", "--board", "ops")
    assert "ephemeral" in run("flux_board", "boards").text
    token = run("flux_board", "lock", "deploy", "--ttl", "60", "--note", "v7", "--json").json()["token"]
    assert "v7" in run("flux_board", "locks").text
    assert run("flux_board", "lock", "deploy").status == 75
    assert run("flux_board", "renew", "deploy", str(token)).status == 0
    assert run("flux_board", "unlock", "deploy", str(token)).text.strip() == "Lock released."
    run("flux_board", "lock", "deploy")
    assert run("flux_board", "break", "deploy").text.strip() == "Lock broken."
    run("flux_board", "add", "work", '{"n": 1}')
    claimed = run("flux_board", "claim", "work", "--json").json()
    assert claimed["value"] == {"n": 1}
    assert run("flux_board", "queues", "--json").json()["queues"][0]["claimed"] == 1
    assert run("flux_board", "done", "work", claimed["task"], str(claimed["token"])).text.strip() == "Task finished."
    assert run("flux_board", "claim", "work").text.strip() == "No tasks waiting."


def test_what_is_no_json_is_explained(kv):
    said = kv("write", "helper", "a", "plain words", "--json")
    assert said.status == 64 and "Quote texts" in said.json()["error"]["message"]


def test_empty_lists_say_so(run, kv):
    assert kv("list", "helper").text.strip() == "No keys match."
    for words, text in (
        ("boards", "No boards yet. `main` is created with its first key."),
        ("locks", "No locks."),
        ("queues", "No queues."),
    ):
        assert run("flux_board", words).text.strip() == text


def test_the_arguments_of_an_action_are_checked(kv):
    for words, message in (
        (("read", "helper"), "read takes KEY."),
        (("list", "helper", "a"), "list takes no arguments."),
        (("incr", "helper", "n", "1", "2"), "incr takes KEY [BY]."),
        (("incr", "helper", "n", "1", "--by", "2"), "by is given twice: by position and as --by."),
        (("touch", "helper", "n", "--by", "2"), "touch takes no --by."),
        (("cas", "helper", "n", "one", "2"), "expected_version must be a whole number."),
    ):
        refused = kv(*words, "--json")
        assert (refused.status, refused.json()["error"]["message"]) == (65, message)


def test_fields_that_may_be_left_out_are_options_too(kv):
    assert kv("incr", "helper", "n", "--json").json()["value"] == 1
    assert kv("incr", "helper", "n", "--by", "2", "--json").json()["value"] == 3
    assert kv("incr", "helper", "n", "--by", "0.5", "--json").json()["value"] == 3.5
    assert kv("append", "helper", "l", "--value", '"x"', "--json").json()["value"] == ["x"]
    assert kv("restore", "helper", "n", "--at", "1", "--json").json()["version"] == 4
    assert kv("read", "helper", "n").text.strip() == "1"


def test_help_names_exactly_the_actions_that_take_an_option():
    parser = load_command_class("memory", "flux_kv").create_parser("manage.py", "flux_kv")
    help_of = {action.dest: action.help for action in parser._actions}
    assert help_of["by"] == "incr: Number that incr adds. Default 1."
    assert help_of["value"] == "append: Value that append adds."
    assert help_of["patch"].startswith("patch: Object that patch merges:")
    assert help_of["version"] == "restore: Version that restore writes again. history: Version whose value is read."
    assert help_of["limit"] == (
        "list: Keys per page. Default 100. history: Page size. Default 100. passages: Page size. Default 50."
    )
    assert help_of["ttl_secs"].startswith("write, cas, touch, incr, append, patch, restore: Lifetime in seconds.")
