"""flux-memory's names in this process: its README example runs as it stands, and more than that works."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from fluxcore.config import Config
from tests.instances import ROOT, Instance

# The example of flux-memory's README, line by line.
EXAMPLE = """
from flux.storage import FluxStore
from flux.service import FluxService
from flux.config import Config

store = FluxStore("~/.flux/my-memory/flux.db")
svc = FluxService(store, cfg=Config())
svc.start()

grain_id = svc.store("Paris is the capital of France", provenance="user_stated")

result = svc.retrieve("French capital")

svc.feedback(result.trace_id, result.grains[0]["id"], useful=True)

svc.stop()
store.close()
"""
AND_MORE = """
import json, threading
assert result.grains[0]["id"] == grain_id

from fluxcore.errors import Invalid, NotStarted, StopTheInstance
def refused(what, *arguments, **named):
    try:
        what(*arguments, **named)
    except (Invalid, NotStarted, StopTheInstance) as error:
        return error.code
refusals = [refused(svc.store, "after the end"), refused(FluxStore, "~/elsewhere.db"),
            refused(FluxStore, "~/.flux/other/flux.db"), refused(FluxService, store, llm=object())]

with FluxStore("~/.flux/my-memory/flux.db") as again:
    svc = FluxService(again, cfg=Config(TOP_K=2))
    svc.start()
    learned = svc.health()["queue"]["jobs"]
    more = svc.store_ex("Paris is the capital of France", provenance="user_stated")
    ids = svc.store_batch([{"content": f"Paris fact {n}"} for n in range(3)] + [{"content": " "}])
    threads = [threading.Thread(target=svc.store, args=(f"said by thread {n}",)) for n in range(4)]
    [one.start() for one in threads], [one.join() for one in threads]
    few = svc.retrieve("Paris", explain=True)
    votes = svc.feedback_batch_sync([{"trace_id": few.trace_id, "grain_id": few.grains[0]["id"], "useful": False}])
    listed = svc.list_grains(limit=100)
    pending = svc.pending_feedback()
    svc.stop()
print(json.dumps([refusals, learned["done"], more["status"], ids[-1], len(few.grains), few.explanation is not None,
                  votes[0]["status"], len(listed), "pending" in pending]))
"""


@pytest.mark.either_database
def test_the_readme_example_runs_unchanged_and_the_rest_of_the_names_work(tmp_path):
    tables = Instance(tmp_path / ".flux", "my-memory").with_tables()  # migrations are half of a first start
    environment = {**tables.environment, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    del environment["FLUX_HOME"], environment["FLUX_NAME"]
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLE + AND_MORE],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    refusals, learned, status, blank, found, explained, voted, listed, pending = said
    assert refusals == ["not_started", "invalid", "running", "invalid"]
    assert learned >= 2  # what the first service was asked for was done when it had stopped
    assert (status, blank, found, explained, voted, listed, pending) == (
        "corroborated",
        None,
        2,
        True,
        "recorded",
        8,
        True,
    )
    assert oct((tmp_path / ".flux/my-memory").stat().st_mode)[-3:] == "700"


def test_what_a_program_sets_goes_before_the_file_and_the_rest_follows_it(tmp_path):
    from fluxcore import config

    file = tmp_path / "config.yaml"
    file.write_text("TOP_K: 3\nMAX_GRAINS_PER_CALL: 7\n")
    live = config.Live(file, config.load(file))
    live.hold(Config(TOP_K=9))
    assert (live().TOP_K, live().MAX_GRAINS_PER_CALL) == (9, 7)
    file.write_text("TOP_K: 4\nMAX_GRAINS_PER_CALL: 8\n")
    os.utime(file, ns=(1, 1))
    live.next_look = 0.0
    assert (live().TOP_K, live().MAX_GRAINS_PER_CALL) == (9, 8)
    with pytest.raises(config.ConfigError, match="TOP_K"):
        live.hold(Config(TOP_K=0))
    live.hold(Config(MAX_GRAINS_PER_CALL=2))
    assert (live().TOP_K, live().MAX_GRAINS_PER_CALL) == (4, 2)  # what the next service leaves alone is the file's
