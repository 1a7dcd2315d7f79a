"""A worker process as `flux_start` runs it, with handlers for the tests' own kinds of jobs.

python -m tests.concurrency.job_worker work [QUEUE …] [--lease SECONDS] [--back-off SECONDS] [--sweep SECONDS]
                                                    [--by-message-alone]
python -m tests.concurrency.job_worker add KIND COUNT
python -m tests.concurrency.job_worker count        effects per job and states, as JSON
"""

from __future__ import annotations

import argparse
import os
import random
import time
from datetime import timedelta

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")

import django

django.setup()

from django.core.management import call_command  # noqa: E402

from fluxcore import events  # noqa: E402
from fluxcore.work import jobs, kinds, lease, worker  # noqa: E402
from fluxcore.work.run import Apply, Run  # noqa: E402
from fluxcore.writes import booth  # noqa: E402
from fluxsite import celery, serve  # noqa: E402
from fluxsite import worker as worker_process  # noqa: E402


def leave_an_effect(run: Run) -> Apply:
    """Take a moment, then leave one event; a kill may come before, between or after."""
    time.sleep(random.uniform(0, 0.04))

    def apply() -> None:
        events.append("test.effect", space=None, actor="test", subject=str(run.args["number"]))
        time.sleep(random.uniform(0, 0.02))

    return apply


def always_fail(run: Run) -> Apply:
    raise ValueError("never works")


kinds.job("test.effect", leave_an_effect)
kinds.job("test.broken", always_fail)
kinds.job("test.heavy", leave_an_effect, queue=kinds.HEAVY)


def add(wanted_kinds: list[str]) -> None:
    """Bring the database up to date and put `KIND=COUNT` jobs into it, in one commit."""
    call_command("migrate", verbosity=0)

    def write() -> None:
        for wanted in wanted_kinds:
            kind, _, count = wanted.partition("=")
            for number in range(int(count)):
                jobs.enqueue(kind, {"number": number})

    booth.write(write)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["work", "add"])
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--lease", type=float)
    parser.add_argument("--back-off", type=float)
    parser.add_argument("--sweep", type=float)
    parser.add_argument("--by-message-alone", action="store_true", help="never sweep without a message of beat")
    options = parser.parse_args()
    if options.action == "add":
        add(options.kinds)
        return
    if options.lease:
        lease.LEASE = timedelta(seconds=options.lease)
    if options.back_off:
        worker.BACK_OFF_SECONDS = (options.back_off,) * 4
    if options.sweep:
        sweep_every(options.sweep)
    if options.by_message_alone:
        worker_process.sweep_without_the_broker = lambda queues: None
    serve.worker(*options.kinds)


def sweep_every(seconds: float) -> None:
    """A message that dies with its worker is made up for by the sweep: let that come sooner than in a minute."""
    celery.app.conf.beat_schedule["sweep"]["schedule"] = seconds


if __name__ == "__main__":
    main()
