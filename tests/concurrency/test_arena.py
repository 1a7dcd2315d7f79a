"""Arenas of several processes stay equal: one writes, three read, each in its own way."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path

from tests.concurrency.conftest import Fleet
from tests.concurrency.databases import few_or_many, on_fleets
from tests.instances import ROOT

WAYS = ("build", "write-files", "open-files")
_SPACE = """
import json
from accounts import agents
from accounts.models import Space
from accounts.principals import shell
agents.create_space(shell(), name="{name}")
print(json.dumps(Space.objects.get(name="{name}").pk))
"""


@few_or_many("commits", 80, 400)
@on_fleets("sqlite", "postgres")
def test_three_readers_see_every_commit_of_a_writer_at_their_next_read(
    fleet: Fleet, tmp_path: Path, commits: int
) -> None:
    space = fleet.python(_SPACE.format(name=f"coherent-{uuid.uuid4().hex[:6]}"))
    counter = tmp_path / "counter"
    counter.write_bytes(bytes(8))

    def start(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.concurrency.arena_process",
                arguments[0],
                str(space),
                str(counter),
                str(commits),
                *arguments[1:],
            ],
            env=fleet.instance.environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    processes = [start("read", way) for way in WAYS] + [start("write")]
    said = []
    try:
        for process in processes:
            out, problem = process.communicate(timeout=180)
            assert process.returncode == 0, problem
            said.append(json.loads(out.strip().splitlines()[-1]))
    finally:
        for process in processes:
            process.kill()
    *readers, writer = said
    looks = [reader["looks"] for reader in readers]
    print(f"\narenas on {fleet.kind}: {writer['commits']} commits, {readers[0]['size']} grains, {looks} looks")
    assert [reader["late"] for reader in readers] == [[], [], []], "a commit was not there at the next look"
    assert min(looks) > commits // 8, "the readers hardly looked while the writer wrote"
    assert len({reader["checksum"] for reader in readers}) == 1
    assert readers[0]["checksum"] == readers[0]["fresh"], "what was told is not what a build finds"
    assert [reader["generation"] > 0 for reader in readers] == [False, True, True]
