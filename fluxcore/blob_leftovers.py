"""Removal of what killed processes left half written: bodies that came in, contents that were stored, marks.

Folders are of the machine that runs the job; of an object store one machine cleans for all.
"""

from __future__ import annotations

from django.conf import settings

from fluxcore import blobs, files, uptime
from fluxcore.work.run import Run


def remove_leftovers(run: Run) -> None:
    """A clock that jumped would make files that are being written look old: then nothing is removed."""
    if uptime.now().doubt:
        run.say("The clock is in doubt. Nothing was removed.")
        return
    # Bodies lie in the data home, wherever the blobs are.
    bodies = settings.HOME.blobs / blobs.INCOMING
    removed = files.remove_leftovers(bodies, older_than_seconds=blobs.GRACE.total_seconds())
    removed += blobs.of_instance().remove_leftovers()
    if removed:
        run.say(f"Removed {removed} files that were left half written.")
