"""The data home: readable only by its owner; its key is created once."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from fluxcore import config
from fluxsite.home import DataHome, HomeError, current_home, make_home


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def home(tmp_path):
    return DataHome("test", tmp_path / "root" / "test")


@pytest.fixture(params=[0o022, 0o000, 0o077])
def umask(request):
    """Independent of the shell's umask."""
    import os

    before = os.umask(request.param)
    yield
    os.umask(before)


def test_folders_are_0700_and_files_0600(home, umask):
    assert make_home(home) is True
    folders = [home.path, *(path for path in home.path.rglob("*") if path.is_dir())]
    files = [path for path in home.path.rglob("*") if path.is_file()]
    assert {mode(folder) for folder in folders} == {0o700}
    assert {mode(file) for file in files} == {0o600}
    assert {path.name for path in files} == {"config.yaml", "secret_key"}


def test_folders_left_open_are_closed(home):
    home.path.mkdir(parents=True, mode=0o755)
    make_home(home)
    assert mode(home.path) == 0o700


def test_making_it_again_changes_nothing(home):
    make_home(home, mode="flux_extracts")
    key, text = home.secret("secret_key"), home.config.read_text()
    assert make_home(home) is False
    assert (home.secret("secret_key"), home.config.read_text()) == (key, text)
    assert config.load(home.config).OPERATING_MODE == "flux_extracts"


def test_a_key_is_long_and_its_own(home, tmp_path):
    home.make()
    other = DataHome("other", tmp_path / "other")
    other.make()
    assert len(home.make_secret("secret_key")) >= 50
    assert home.make_secret("secret_key") != other.make_secret("secret_key")


def test_sixteen_makers_agree_on_one_key(home):
    home.make()
    found, gate = [], threading.Barrier(16)

    def one():
        gate.wait(10)
        found.append(home.make_secret("secret_key"))

    for _ in range(5):
        threads = [threading.Thread(target=one) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 16
        assert set(found) == {home.secret("secret_key")}
        assert [path.name for path in home.keys.iterdir()] == ["secret_key"]
        found.clear()
        (home.keys / "secret_key").unlink()


def test_an_empty_or_broken_key_is_not_replaced_in_silence(home):
    home.make()
    (home.keys / "secret_key").touch()
    with pytest.raises(HomeError, match="empty"):
        home.make_secret("secret_key")
    (home.keys / "secret_key").write_bytes(b"\xff\xff")
    with pytest.raises(HomeError, match="cannot be read"):
        home.secret("secret_key")


def test_there_is_no_key_until_it_is_made(home):
    assert home.secret("secret_key") is None
    assert not home.path.exists()


def test_an_instance_is_chosen_by_name_and_place(monkeypatch, tmp_path):
    monkeypatch.setenv("FLUX_HOME", str(tmp_path))
    monkeypatch.setenv("FLUX_NAME", "second")
    assert current_home() == DataHome("second", tmp_path / "second")
    monkeypatch.delenv("FLUX_NAME")
    assert current_home().name == "default"
    monkeypatch.delenv("FLUX_HOME")
    assert current_home().path == Path.home() / ".flux" / "default"


@pytest.mark.parametrize("name", ["../x", "a/b", "A", ".", "a b", "-a", "a" * 65, "ü"])
def test_a_name_cannot_lead_elsewhere(monkeypatch, name):
    monkeypatch.setenv("FLUX_NAME", name)
    with pytest.raises(HomeError):
        current_home()
