"""A first start opens its doors at once and builds what the encoder needs meanwhile."""

from __future__ import annotations

import fcntl
import json
import stat
import time

import pytest

from tests.instances import Instance

pytestmark = [pytest.mark.proof, pytest.mark.xdist_group("encoder")]


@pytest.fixture
def instance(tmp_path):
    one = Instance(tmp_path, FLUX_ENCODER="all-MiniLM-L6-v2")
    yield one
    one.stop()


def test_the_doors_do_not_wait_for_the_graph(instance):
    models = instance.folder / "models"
    models.mkdir(parents=True, mode=0o700)
    instance.folder.chmod(0o700)
    with (models / ".lock").open("a") as another_builder:
        (models / ".lock").chmod(0o600)
        fcntl.flock(another_builder, fcntl.LOCK_EX)
        instance.with_tables().start()
        assert instance.call("GET", "/readyz").status == 200
        assert list(models.glob("minilm*")) == []
        assert encoder(instance)["state"] == "not loaded"
    until = time.monotonic() + 60
    while encoder(instance)["state"] != "ready":
        assert time.monotonic() < until, (instance.folder / "flux.log").read_text()
        time.sleep(0.1)
    (graph,) = models.glob("minilm*")
    assert stat.S_IMODE(graph.stat().st_mode) == 0o600
    status = json.loads(instance.command("flux_status", "--json").stdout)
    assert (status["encoder"]["name"], status["encoder"]["problem"]) == ("minilm-l6-int8", None)


def encoder(instance: Instance) -> dict[str, object]:
    return instance.call("GET", "/health", token=instance.token).json()["encoder"]
