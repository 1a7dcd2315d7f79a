"""config.yaml's words on signals reach the engine."""

from __future__ import annotations

import pytest

from fluxcore import config
from memory.engine.ranking.settings import DEFAULT
from memory.grains.models import Conduit
from memory.recall import engine_settings
from tests.grains.conftest import Memory


def test_the_defaults_of_both_agree() -> None:
    found = engine_settings.current()
    assert found.fading == DEFAULT.fading
    assert found.propagation == DEFAULT.propagation
    assert found.unsure == DEFAULT.unsure


def test_what_is_set_is_used_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    given = config.Config(ATTENUATION=0.5, HALF_LIFE_WORKING_HOURS=10.0, EXPANSION_ENABLED=False, MAX_HOPS=0)
    monkeypatch.setattr(config, "current", lambda: given)
    found = engine_settings.current()
    assert (found.propagation.attenuation, found.fading.working, found.expansion) == (0.5, 10.0, 0)
    assert found.propagation.hops == 0


@pytest.mark.storage
def test_without_hops_no_link_leads_anywhere(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.store("What do you do for a living, Maria?", session="talk", speaker="Tom")
    memory.store("I restore old clocks", session="talk", speaker="Maria")
    assert Conduit.objects.exists()
    asked = "What does Maria do for a living?"
    assert memory.ask(asked)["hop_count"] == 1
    given = config.Config(MAX_HOPS=0)
    monkeypatch.setattr(config, "current", lambda: given)
    assert memory.ask(asked)["hop_count"] == 0
