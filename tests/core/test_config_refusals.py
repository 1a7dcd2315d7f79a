"""config.yaml: whatever the instance would ignore or misread is refused with its line."""

from __future__ import annotations

import pytest

from fluxcore.config import Config, ConfigError, load, parse


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("TOP_K: 5\n\nTOPK: 7\n", "line 3: unknown key 'TOPK'. Did you mean TOP_K?"),
        ("top_k: 7\n", "line 1: unknown key 'top_k'. Did you mean TOP_K?"),
        ("XYZZY: 1\n", "line 1: unknown key 'XYZZY'."),
        ("# a note\nTOP_K: five\n", "line 2: TOP_K must be a whole number, not 'five'"),
        ("TOP_K: 5.0\n", "line 1: TOP_K must be a whole number, not 5.0"),
        ("TOP_K: true\n", "line 1: TOP_K must be a whole number, not True"),
        ("TOP_K:\n", "line 1: TOP_K must be a whole number, not None"),
        ("EXPANSION_ENABLED: 1\n", "line 1: EXPANSION_ENABLED must be true or false, not 1"),
        ("LLM_MODEL: 8\n", "line 1: LLM_MODEL must be text, not 8"),
        ("ATTENUATION: '0.5'\n", "line 1: ATTENUATION must be a number, not '0.5'"),
        ("ATTENUATION: .nan\n", "line 1: ATTENUATION must be between 0 and 1, not nan"),
        ("HALF_LIFE_CORE_HOURS: .inf\n", "must be between 1 and 1000000.0, not inf"),
        ("TOP_K: 0\n", "line 1: TOP_K must be between 1 and 100, not 0"),
        ("REST_PORT: 65536\n", "line 1: REST_PORT must be between 0 and 65535, not 65536"),
        ("REST_PORT: -1\n", "line 1: REST_PORT must be between 0 and 65535, not -1"),
        ("OPERATING_MODE: both\n", "must be one of caller_extracts, flux_extracts, not 'both'"),
        ("TOP_K: 5\nMAX_HOPS: 2\nTOP_K: 6\n", "line 3: TOP_K is set twice"),
        ("TOP_K: [5]\n", "line 1: TOP_K must be a single value"),
        ("TOP_K: {a: 1}\n", "line 1: TOP_K must be a single value"),
        ("[TOP_K]: 5\n", "line 1: unknown key"),
        ("a: &a [x]\nb: &b [*a, *a]\n", "line 1: unknown key 'a'"),
        ("TOP_K: !!python/object/apply:os.getpid []\n", "line 1: TOP_K must be a single value"),
        ("TOP_K: !!python/name:os.getpid ''\n", "line 1: TOP_K cannot be read as a value"),
        ("TOP_K: " + "9" * 5000 + "\n", "line 1: TOP_K cannot be read as a value"),
        ("LLM_MODEL: 2026-99-99\n", "line 1: LLM_MODEL"),
        ("TOP_K: 5\n- 6\n", "line 2: not valid YAML"),
        ("TOP_K: 5\nMAX_HOPS: \x00\n", "line 2: not valid YAML"),
        ("TOP_K: 'x\n", "not valid YAML"),
        ("- TOP_K\n", "line 1: expected `KEY: value` lines"),
        ("just words\n", "line 1: expected `KEY: value` lines"),
        ("TOP_K: 1\n---\nTOP_K: 2\n", "not valid YAML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(text, says):
    with pytest.raises(ConfigError) as refusal:
        parse(text)
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_yaml_aliases_cannot_use_up_the_memory():
    laughs = "&a [x]\n"
    for number in range(40):
        laughs += f"K{number}: &n{number} [*{'a' if number == 0 else f'n{number - 1}'}, *a]\n"
    with pytest.raises(ConfigError):
        parse("TOP_K: " + laughs)


def test_an_empty_file_means_the_defaults(tmp_path):
    assert parse("") == parse("# nothing but a note\n") == load(tmp_path / "absent.yaml") == Config()


def test_a_whole_number_is_accepted_where_a_number_is_wanted():
    assert parse("ATTENUATION: 1").ATTENUATION == 1.0
    assert isinstance(parse("ATTENUATION: 1").ATTENUATION, float)


def test_a_file_that_is_not_text_is_refused_by_name(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(b"TOP_K: \xff\n")
    with pytest.raises(ConfigError, match=r"config\.yaml: cannot be read"):
        load(path)
