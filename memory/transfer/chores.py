"""What the worker does for imports. The heavy parts are loaded when one of these runs."""

from __future__ import annotations

from datetime import timedelta

from fluxcore import clock, jobs

KEPT = timedelta(days=30)  # how long it can be read what became of an import


@jobs.handler("transfer.import")
def take(run: jobs.Run) -> jobs.Apply | None:
    from memory.transfer import import_job

    return import_job.take_next_piece(run)


def forget_old() -> None:
    from memory.transfer.models import Import

    Import.objects.filter(finished_at__lt=clock.now() - KEPT).delete()
