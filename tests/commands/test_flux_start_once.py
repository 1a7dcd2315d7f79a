"""flux_start --once"""

from __future__ import annotations

import json

import pytest


@pytest.mark.proof
def test_it_proves_a_throw_away_instance_and_leaves_nothing(instance):
    one = instance()
    proof = json.loads(one.command("flux_start", "--once", "--json").stdout)
    assert proof["grain"]["content"]
    assert proof["recalled"]["grains"][0]["id"] == proof["grain"]["id"]
    assert proof["audit_entries"] >= 4
    assert proof["exit_status"] == 0
    assert not one.home.exists()
