"""Keys of config.yaml: each has an effect, or is on the list of keys that are not used yet."""

from __future__ import annotations

import pytest

from fluxcore import config
from fluxcore.config.parsing import check_value
from tests.config import (  # noqa: F401
    probes_learning,
    probes_lifecycle,
    probes_limits,
    probes_recall,
    probes_servers,
    probes_stores,
)
from tests.config.probing import PROBES, ProbeWorld

LATER = {name for name, item in config.FIELDS.items() if item.metadata["comes_with"]}


def test_each_key_has_a_probe_or_is_not_used_yet():
    assert set(config.FIELDS) - LATER - set(PROBES) == set(), "give the new key a probe in tests/config"
    assert set(PROBES) & LATER == set(), "it is used: take `comes_with` away"
    assert set(PROBES) <= set(config.FIELDS)


def look(name, patch):
    probe = PROBES[name]
    for value in (probe.first, probe.other):
        check_value(name, value, "probe")
    world = ProbeWorld(patch)
    world.set(**probe.besides, **{name: probe.first})
    first = probe.observe(world)
    assert probe.observe(world) == first, "it changes by itself and shows nothing"
    world.set(**probe.besides, **{name: probe.other})
    assert probe.observe(world) != first


@pytest.mark.parametrize("name", sorted(name for name, probe in PROBES.items() if not probe.stored))
def test_a_key_changes_something(name, monkeypatch):
    look(name, monkeypatch)


@pytest.mark.either_database
@pytest.mark.parametrize("name", sorted(name for name, probe in PROBES.items() if probe.stored))
def test_a_key_changes_something_that_is_stored(name, monkeypatch, transactional_db):
    look(name, monkeypatch)
