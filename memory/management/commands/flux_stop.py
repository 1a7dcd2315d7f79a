"""flux_stop: stop a running instance; servers finish their requests and the worker its job.

They have `supervisor.STOP_SECONDS` for it. What takes longer is killed: an unanswered write was not acknowledged, and
an unfinished job is run again when its lease has expired.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from fluxcore.errors import StorageUnavailable
from fluxsite.run import running_state
from memory.management.base import FluxCommand


class Command(FluxCommand):
    help = "Stop a running instance."
    needs_tables = False

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--seconds", type=float, default=15, help="seconds to wait for it to stop (default 15)")

    def run(self, options: dict[str, Any]) -> None:
        home = settings.HOME
        if not running_state.is_running(home):
            self.answer({"stopped": False, "was_running": False}, says=f"The instance {home.name} is not running.")
            return
        if not running_state.stop_instance(home, seconds=options["seconds"]):
            raise StorageUnavailable(f"The instance is still running after {options['seconds']:g} s. See {home.log}.")
        self.answer({"stopped": True, "was_running": True}, says=f"Stopped the instance {home.name}.")
