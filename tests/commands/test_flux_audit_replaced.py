"""flux_audit on whole instances: what replaces chains rightly is no alarm, and is said"""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from tests.concurrency.databases import connect


def all_of(one, *lines):
    return [json.loads(said) for said in one.commands(*(f"{line} --json" for line in lines))]


def outside(one, folder):
    folder.mkdir(exist_ok=True)
    one.environment["FLUX_CHECKPOINTS"] = str(folder)
    return one


@pytest.mark.proof
def test_a_reset_and_a_restore_are_no_alarm_but_are_said(made_on_each_database, tmp_path):
    one, file = outside(made_on_each_database(), tmp_path / "outside"), tmp_path / "b.tar.zst"
    *_, made, sound, _, after_reset, _, after_restore = all_of(
        one,
        "flux_space create team",
        f"flux_backup create {file}",
        "flux_space create late",
        "flux_audit checkpoint",
        "flux_audit verify",
        "flux_reset --confirm test",
        "flux_audit verify",
        f"flux_backup restore {file} --confirm test",
        "flux_audit verify",
    )
    assert made["chains"]["instance"]["entries"] == 3
    assert (sound["sound"], sound["replaced"]) == (True, [])
    assert (after_reset["sound"], [one["kind"] for one in after_reset["replaced"]]) == (True, ["reset"])
    assert after_restore["sound"], after_restore
    assert [(one["kind"], one["entries"]["instance"]) for one in after_restore["replaced"]] == [
        ("reset", 3),
        ("restore", 1),
    ]
    # Every line ever signed is still there, in both places, and speaks of the chains as they are now.
    log = (one.folder / "checkpoints.jsonl").read_text()
    assert (tmp_path / "outside" / "test.jsonl").read_text() == log
    assert [json.loads(line)["kind"] for line in log.splitlines()] == [
        "key",
        "checkpoint",
        "reset",
        "checkpoint",
        "restore",
        "checkpoint",
    ]
    with closing(connect(one)) as database:
        database.execute("DELETE FROM accounts_auditentry WHERE chain = 'instance' AND seq = 2")
    broken = json.loads(one.command("flux_audit", "verify", "--json", check=False).stdout)
    assert {chain["chain"]: chain["broken_at"] for chain in broken["chains"]}["instance"] == 2


def test_an_older_database_put_in_place_by_hand_is_an_alarm(made):
    """What a restore says and a copied file does not."""
    one = made()
    all_of(one, "flux_space create team")
    old = (one.folder / "flux.db").read_bytes()
    all_of(one, "flux_space create late", "flux_audit checkpoint")
    (one.folder / "flux.db").write_bytes(old)
    (found,) = all_of(one, "flux_audit verify")
    assert {chain["chain"]: chain["broken_at"] for chain in found["chains"]}["instance"] == 3


@pytest.mark.proof
def test_a_restore_on_a_new_machine_goes_on_with_the_log_outside(made_on_each_database, tmp_path):
    old, file = outside(made_on_each_database(), tmp_path / "outside"), tmp_path / "b.tar.zst"
    all_of(
        old,
        "flux_space create team",
        "flux_audit checkpoint",
        f"flux_backup create {file}",
        "flux_space create late",
        "flux_audit checkpoint",
    )
    old.folder.rename(tmp_path / "lost")
    new = old
    new.command("flux_backup", "restore", str(file), "--confirm", "test")
    (found,) = all_of(new, "flux_audit verify")
    assert found["sound"], found
    assert [(one["kind"], one["entries"]["instance"]) for one in found["replaced"]] == [("restore", 3)]
    assert [place["lines"] for place in found["checkpoints"]] == [5, 5]


def test_an_outside_folder_inside_the_data_home_is_refused(instance):
    one = instance()
    one.environment["FLUX_CHECKPOINTS"] = str(one.folder / "checkpoints")
    refused = one.command("flux_init", "--no-input", check=False)
    assert refused.returncode != 0
    assert "FLUX_CHECKPOINTS must be outside the data home" in refused.stdout + refused.stderr
    one.environment["FLUX_CHECKPOINTS"] = "somewhere"
    refused = one.command("flux_init", "--no-input", check=False)
    assert "FLUX_CHECKPOINTS must be an absolute path" in refused.stdout + refused.stderr
