"""Jobs of imports: pieces are imported, and old reports deleted."""

from __future__ import annotations

from datetime import timedelta

from fluxcore import clock
from fluxcore.work.kinds import SLOW, job
from fluxcore.work.sweep import every_minute
from memory.transfer.models import Import

IMPORT = job("transfer.import", "memory.transfer.import_job.take_next_piece", queue=SLOW)
KEPT = timedelta(days=30)  # how long the report of an import can be read


def forget_old() -> None:
    Import.objects.filter(finished_at__lt=clock.now() - KEPT).delete()


every_minute(forget_old)
