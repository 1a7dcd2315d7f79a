"""flux_status: what agents use of their quotas, and what it warns of"""

from __future__ import annotations

import pytest

from accounts import tokens
from fluxsite.home import DataHome, make_home
from memory.grains.store import store
from memory.health.usage import format_bytes
from memory.keyvalue import boards, verbs


@pytest.fixture
def used(make_token):
    rights = ("grains.write", "memory.write", "bb.write")
    for name, texts in (("a-name-that-is-much-longer-than-a-column", 2), ("bob", 1)):
        who = tokens.authenticate(make_token(name, capabilities=rights))
        for number in range(texts):
            store(who, content=f"{name[0]}aid {number}")
    verbs.set_key(who, place="agents/bob", key="k", value=1)
    verbs.set_key(who, place="agents/bob", key="k", value=2)
    boards.make(who, board="ops")
    verbs.set_key(who, place="boards/ops", key="k", value=1)
    make_token("quiet")


def test_usage_by_space_and_agent(run, used):
    found = run("flux_status", "--json").json()["usage"]
    none = {"model_calls": 0, "model_tokens": 0}
    assert found["rows"] == [
        {"space": "home", "agent": None, "grains": 3, "grain_bytes": 18, "key_bytes": 5, "boards": 1, **none},
        {
            "space": "home",
            "agent": "a-name-that-is-much-longer-than-a-column",
            "grains": 2,
            "grain_bytes": 12,
            "key_bytes": 0,
            "boards": 0,
            **none,
        },
        {"space": "home", "agent": "bob", "grains": 1, "grain_bytes": 6, "key_bytes": 3, "boards": 1, **none},
    ]
    assert found["limits"]["agent"]["MAX_BOARDS_PER_AGENT"] == 20


def test_it_fits_eighty_columns(run, used, configure):
    configure(OPERATING_MODE="flux_extracts")
    lines = run("flux_status").text.splitlines()
    shown = lines[next(place for place, line in enumerate(lines) if line.startswith("space, agent")) :]
    assert [line.split() for line in shown[:4]] == [
        ["space,", "agent", "memories", "size", "keys", "boards", "model", "calls"],
        ["home", "3", "18", "B", "5", "B", "1", "0"],
        ["a-name-that-is-much-lon…", "2", "12", "B", "0", "B", "0", "0"],
        ["bob", "1", "6", "B", "3", "B", "1", "0"],
    ]
    assert [line.rstrip() for line in shown[4:7]] == [
        "Limits of an agent: 1,000,000 memories, 1 GiB, keys 256 MiB, 20 boards",
        "Limits of a space: 5,000,000 memories, 5 GiB, 500 boards",
        "An agent may spend 50% of its space's budget for the model.",
    ]
    assert max(map(len, shown[:7])) <= 80


@pytest.mark.parametrize(
    ("size", "says"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (2**20 - 1, "1024 KiB"),
        (5 * 2**30, "5 GiB"),
        (2**60, "1048576 TiB"),
    ],
)
def test_sizes_in_units(size, says):
    assert format_bytes(size) == says


def test_keys_that_others_can_read_are_named_with_the_remedy(run, settings, tmp_path):
    settings.HOME = DataHome("test", tmp_path / "test")
    make_home(settings.HOME)
    (settings.HOME.keys / "audit_public_keys").touch(mode=0o644)
    key = settings.HOME.keys / "secret_key"
    assert not any("can read" in warning for warning in run("flux_status", "--json").json()["warnings"])
    for mode in (0o644, 0o640, 0o604):
        key.chmod(mode)
        said = run("flux_status", "--json")
        assert (said.status, said.text.count("chmod 600")) == (0, 1)
        assert f"other users of this machine can read the key {key}: chmod 600 {key}" in said.json()["warnings"]
