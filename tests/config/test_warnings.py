"""Warnings about keys without effect: at start, in the status, in `check`."""

from __future__ import annotations

import json

from fluxcore import config
from tests.instances import Instance

FILE = "TOP_K: 7\nVECTOR_FALLBACK_K: 3\nDREAM_MAX_CLUSTER: 9\n"
GONE = "line 2: VECTOR_FALLBACK_K has no effect. Vectors are a part of every recall, not a fallback. Delete the line."
LATER = "line 3: DREAM_MAX_CLUSTER is not used yet: it is planned for consolidation and has no effect"


def test_commands_of_an_instance_with_such_keys_name_them(made):
    """The start does too: tests/commands/test_flux_stop.py."""
    one: Instance = made()
    (one.folder / "config.yaml").write_text(FILE)
    status = json.loads(one.command("flux_status", "--json").stdout)
    checked = one.command("check").stderr
    assert GONE in checked and LATER in checked
    assert any(GONE in warning for warning in status["warnings"])
    assert any(LATER in warning for warning in status["warnings"])


def test_a_running_process_follows_what_the_file_says_now(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(FILE)
    live = config.Live(file, config.load(file))
    assert live().TOP_K == 7
    assert live.warnings() == [f"{file}, {GONE}", f"{file}, {LATER}"]
    file.write_text("TOP_K: 9\n")
    live.next_look = 0.0
    assert (live().TOP_K, live.warnings()) == (9, [])
