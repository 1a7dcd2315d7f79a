"""Typed readers of environment variables: a value or a file; invalid values are refused."""

from __future__ import annotations

import pytest

from fluxsite import env
from fluxsite.env import EnvError


def test_a_value_or_the_content_of_a_file(monkeypatch, tmp_path):
    assert env.text("FLUX_X") is None
    assert env.text("FLUX_X", "default") == "default"
    monkeypatch.setenv("FLUX_X", " as it is ")
    assert env.text("FLUX_X") == " as it is "
    monkeypatch.delenv("FLUX_X")
    (tmp_path / "secret").write_text("from a file\n")
    monkeypatch.setenv("FLUX_X_FILE", str(tmp_path / "secret"))
    assert env.text("FLUX_X", "default") == "from a file"


def test_both_are_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("FLUX_X", "a")
    monkeypatch.setenv("FLUX_X_FILE", str(tmp_path / "b"))
    with pytest.raises(EnvError, match="FLUX_X or FLUX_X_FILE, not both"):
        env.text("FLUX_X")


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff\xfe"])
def test_a_file_without_a_value_is_refused_not_defaulted(monkeypatch, tmp_path, content):
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("FLUX_X_FILE", str(path))
    with pytest.raises(EnvError, match="FLUX_X_FILE points to"):
        env.text("FLUX_X", "default")


@pytest.mark.parametrize(("value", "meant"), [("on", True), ("off", False), ("", "default")])
def test_a_switch_is_on_or_off(monkeypatch, value, meant):
    monkeypatch.setenv("FLUX_X", value)
    for default in (True, False):
        assert env.switch("FLUX_X", default) is (default if meant == "default" else meant)


@pytest.mark.parametrize("value", ["On", "1", "true", "yes", "of", "on ", "offf"])
def test_a_typo_moves_no_switch(monkeypatch, value):
    monkeypatch.setenv("FLUX_X", value)
    with pytest.raises(EnvError, match="FLUX_X must be 'on' or 'off'"):
        env.switch("FLUX_X", False)


def test_a_number_has_a_range(monkeypatch):
    assert env.number("FLUX_X", 7, low=1, high=10) == 7
    monkeypatch.setenv("FLUX_X", "10")
    assert env.number("FLUX_X", 7, low=1, high=10) == 10
    monkeypatch.setenv("FLUX_X", "11")
    with pytest.raises(EnvError, match="between 1 and 10"):
        env.number("FLUX_X", 7, low=1, high=10)


@pytest.mark.parametrize("value", ["ten", "1.0", "1_0", "\uff11", " 1", "0x1", "1e1", "9" * 5000, "--1"])
def test_what_is_no_whole_number_is_refused(monkeypatch, value):
    monkeypatch.setenv("FLUX_X", value)
    with pytest.raises(EnvError, match="whole number"):
        env.number("FLUX_X", 7, low=1, high=10)


def test_a_choice_is_one_of_few(monkeypatch):
    assert env.choice("FLUX_X", "a", ("a", "b")) == "a"
    monkeypatch.setenv("FLUX_X", "B")
    with pytest.raises(EnvError, match="one of a, b, not 'B'"):
        env.choice("FLUX_X", "a", ("a", "b"))


def test_a_list_of_names(monkeypatch):
    assert env.names("FLUX_X") == []
    monkeypatch.setenv("FLUX_X", " a.example, b.example ,,")
    assert env.names("FLUX_X") == ["a.example", "b.example"]


@pytest.mark.parametrize("value", ["localhost:6379", "http://somewhere", "redis:", "redis://", "//x"])
def test_an_address_names_a_scheme_we_speak_and_is_not_quoted(monkeypatch, value):
    monkeypatch.setenv("FLUX_X", value)
    with pytest.raises(EnvError, match="FLUX_X must begin with redis:// or rediss://") as refused:
        env.url("FLUX_X", schemes=("redis", "rediss"))
    assert "somewhere" not in str(refused.value)


def test_no_address_is_none(monkeypatch):
    assert env.url("FLUX_X", schemes=("redis",)) is None
    monkeypatch.setenv("FLUX_X", "redis://:secret@host:6379/0")
    assert env.url("FLUX_X", schemes=("redis",)) == "redis://:secret@host:6379/0"


@pytest.mark.parametrize("key", ["0123456789" * 4, "changeme-please!" * 2, "changeme-please!" * 2 + "change"])
def test_a_key_that_repeats_itself_is_refused(monkeypatch, key):
    monkeypatch.setenv("FLUX_X", key)
    with pytest.raises(EnvError, match="must not repeat itself"):
        env.secret("FLUX_X")


@pytest.mark.parametrize("key", ["a", "0123456789abcdefghijklmnopqrstu", "a" * 64, "secret" * 20, "\u00e9" * 16])
def test_a_key_that_is_short_or_repeats_itself_is_refused(monkeypatch, key):
    monkeypatch.setenv("FLUX_X", key)
    with pytest.raises(EnvError, match="at least 32 bytes and 10 different characters"):
        env.secret("FLUX_X")


def test_a_key_of_32_bytes_and_10_characters_is_taken(monkeypatch):
    monkeypatch.setenv("FLUX_X", "012345678" * 3 + "x" * 5)
    assert env.secret("FLUX_X") == "012345678" * 3 + "x" * 5


def test_a_key_from_a_file_is_looked_at_too(monkeypatch, tmp_path):
    assert env.secret("FLUX_X") is None
    (tmp_path / "key").write_text("changeme\n")
    monkeypatch.setenv("FLUX_X_FILE", str(tmp_path / "key"))
    with pytest.raises(EnvError, match="FLUX_X is too easy to guess"):
        env.secret("FLUX_X")
