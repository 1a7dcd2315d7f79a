"""Environment variables: each of ours is listed and has an effect."""

from __future__ import annotations

import json

import pytest

from fluxsite import env
from tests.packaging.project_files import environment_variables, python

# What a process that has just started takes from its environment. Variables that the servers set for their children
# are read where they are used: the tests of the servers start them.
LOOK = """
import json, os
from fluxsite import settings
from flux.client import FluxClient
from fluxcore.command_names import typed_command
client = FluxClient(token=None) if os.environ.get("FLUX_TOKEN") else None
print(json.dumps({
    "FLUX_ALLOWED_HOSTS": settings.ALLOWED_HOSTS, "FLUX_BOOTH": settings.BOOTH,
    "FLUX_CHECKPOINTS": str(settings.CHECKPOINTS), "FLUX_DOOR": settings.SERVER_ROLE,
    "FLUX_DURABILITY": settings.DURABILITY, "FLUX_ENCODER": settings.ENCODER,
    "FLUX_HOME": str(settings.HOME.path.parent),
    "FLUX_HTTPS": settings.HTTPS,
    "FLUX_LIVE_SOCKETS": settings.LIVE_SOCKETS, "FLUX_LIVE_SOCKETS_EACH": settings.LIVE_SOCKETS_EACH,
    "FLUX_LOG_FILE": "filename" in str(settings.LOGGING), "FLUX_LOG_JSON": str(settings.LOGGING["formatters"]),
    "FLUX_LOG_LEVEL": str(settings.LOGGING["root"]), "FLUX_MAX_BODY_BYTES": settings.MAX_BODY_BYTES,
    "FLUX_NAME": settings.HOME.name, "FLUX_SECRET_KEY": settings.SECRET_KEY_IS_KEPT,
    "FLUX_STARTED_AS": typed_command("flux_stop"), "FLUX_TOKEN": client is not None,
    "FLUX_URL": client and client._settings.url,
}))
"""
OTHER = {
    "FLUX_ALLOWED_HOSTS": "memory.example",
    "FLUX_BOOTH": "inline",
    "FLUX_CHECKPOINTS": "/var/checkpoints",
    "FLUX_DOOR": "people",
    "FLUX_DURABILITY": "normal",
    "FLUX_ENCODER": "none",
    "FLUX_HTTPS": "on",
    "FLUX_LIVE_SOCKETS": "5",
    "FLUX_LIVE_SOCKETS_EACH": "2",
    "FLUX_LOG_FILE": "off",
    "FLUX_LOG_JSON": "on",
    "FLUX_LOG_LEVEL": "DEBUG",
    "FLUX_MAX_BODY_BYTES": "4096",
    "FLUX_NAME": "other",
    "FLUX_SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyz",
    "FLUX_STARTED_AS": "flux",
    "FLUX_TOKEN": "flux_x",
    "FLUX_URL": "http://127.0.0.1:1",
}
BETWEEN_SERVERS = {"FLUX_LEASH", "FLUX_MCP_PORT"}  # set by flux_start and by the people's server


def test_the_list_is_what_the_code_reads():
    assert {name for name in environment_variables() if name.startswith("FLUX_")} == env.VARIABLES
    assert {*OTHER, *BETWEEN_SERVERS, "FLUX_HOME"} == env.VARIABLES


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What a process sees in a plain environment, and in one where every variable is set to something else."""
    homes = [tmp_path_factory.mktemp(name) for name in ("plain", "other")]
    (homes[0] / "default").mkdir()
    plain = python(LOOK, FLUX_HOME=str(homes[0]))
    other = python(LOOK, FLUX_HOME=str(homes[1]), **OTHER)
    assert plain.returncode == other.returncode == 0, plain.stderr + other.stderr
    return json.loads(plain.stdout), json.loads(other.stdout)


@pytest.mark.parametrize("name", sorted(env.VARIABLES - BETWEEN_SERVERS - {"FLUX_BOOTH"}))
def test_a_variable_changes_something(name, seen):
    plain, other = seen
    assert plain[name] != other[name]


def test_the_booth_can_be_chosen_against_the_default_of_the_process(seen):
    assert seen[1]["FLUX_BOOTH"] == "inline", "a people's process would use threads"


def test_a_variable_that_nothing_reads_is_named(monkeypatch):
    monkeypatch.setenv("FLUX_DURABLITY", "normal")
    monkeypatch.setenv("FLUX_XYZZY", "1")
    assert env.unread() == [
        "The environment variable FLUX_DURABLITY has no effect. Did you mean FLUX_DURABILITY?",
        "The environment variable FLUX_XYZZY has no effect. Remove it.",
    ]


def test_a_variable_given_as_a_file_is_known(monkeypatch):
    monkeypatch.setenv("FLUX_SECRET_KEY_FILE", "/run/secrets/key")
    assert env.unread() == []
