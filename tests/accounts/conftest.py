"""Fixture: a separate data home for every test that signs, so that logs and keys do not mix."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from accounts.audit.checkpoints import schedule
from fluxsite.home import DataHome, make_home


@pytest.fixture
def desk(tmp_path, settings, monkeypatch):
    """The home with its log, and the folder outside with the other one."""
    home = DataHome("desk", tmp_path / "flux" / "desk")
    make_home(home)
    outside = tmp_path / "outside"
    outside.mkdir()
    settings.HOME, settings.CHECKPOINTS = home, outside
    monkeypatch.setattr(schedule, "_last_check", None)
    return SimpleNamespace(
        home=home,
        folder=outside,
        log=home.checkpoints,
        outside=outside / "desk.jsonl",
        public=home.keys / "audit_public_keys",
        private=home.keys / "audit_signing_key",
    )
