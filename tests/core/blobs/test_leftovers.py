"""What killed processes leave of bodies and blobs is removed by a recurring job."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest

from fluxcore import blobs, clock, files
from fluxcore.jobs import REMOVE_LEFTOVERS
from fluxcore.models import Job, UptimeClock
from fluxcore.work import schedule, worker
from memory.api import file_answers

pytestmark = pytest.mark.django_db


@pytest.fixture
def left(tmp_path, configure):
    """Files of killed writers in both folders: of a body, in the data home, and of a blob that lies elsewhere."""
    configure(BLOBS_URL=f"file://{tmp_path}/elsewhere")
    found = []
    for folder in (file_answers.folder(), tmp_path / "elsewhere" / blobs.INCOMING):
        files.make_folder(folder)
        for name, age in (("old", 25), ("young", 1)):
            path = files.temporary_path(folder / name)
            path.write_bytes(b"half")
            modified = clock.seconds() - age * 3600
            os.utime(path, (modified, modified))
            found.append(path)
    yield found
    for path in found:
        path.unlink(missing_ok=True)


def names(left):
    return [path.name.split(".")[1] for path in left if path.exists()]


def run_job():
    schedule.ask_for_what_is_due()
    worker.drain([REMOVE_LEFTOVERS])
    return Job.objects.get(kind=REMOVE_LEFTOVERS)


def test_old_leftovers_are_removed_and_young_ones_stay(left):
    assert run_job().state == "done"
    assert names(left) == ["young", "young"]


def test_a_clock_in_doubt_removes_nothing(left):
    UptimeClock.objects.create(pk=1, at=clock.now() - timedelta(days=900), lived=10.0)
    assert run_job().state == "done"
    assert names(left) == ["old", "young", "old", "young"]
