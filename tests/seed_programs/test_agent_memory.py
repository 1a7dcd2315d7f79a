"""Programs written from seed 003's page on persistent memory, as far as its calls exist here."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.xdist_group("seed_programs")  # one instance serves both files


def test_from_python(served):
    config, expires, version, rejected, gone, listed = served.program("key_value_agent.py", **served.server)
    assert config == {"theme": "dark", "max_retries": 3}
    assert (expires, version, rejected, gone, listed) == (True, 3, 3, None, ["cache.a"])


def test_at_the_shell(served):
    """`ash memory …` line by line; the agent is named, as there. `flux kv` is the management command flux_kv."""

    def kv(*words, **options):
        return served.instance.command("flux_kv", *words, **options)

    served.flux("kv", "write", "assistant", "settings", '{"theme": "dark"}')
    assert json.loads(kv("read", "assistant", "settings").stdout) == {"theme": "dark"}
    kv("write", "assistant", "pass", '"abc123"', "--ttl", "3600")
    kv("write", "assistant", "rounds", "1")
    assert kv("cas", "assistant", "rounds", "1", '"new-value"').returncode == 0
    assert kv("cas", "assistant", "rounds", "1", "3", check=False).returncode == 75
    kv("delete", "assistant", "pass")
    keys = json.loads(kv("list", "assistant", "--pattern", "round*", "--json").stdout)["keys"]
    assert [one["key"] for one in keys] == ["rounds"]
