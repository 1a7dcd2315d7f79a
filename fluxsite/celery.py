"""The Celery application: a task for each kind of job, under the kind's own name, in the queue it belongs to.

A message carries no work. It says that there may be job rows of a kind; the task claims them itself.
`celery -A fluxsite.celery inspect registered` lists the kinds.
"""

from __future__ import annotations

import os
from collections.abc import Collection

import django
from celery import Celery
from celery.signals import import_modules, setup_logging, worker_shutting_down
from django.apps import apps

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")

EXPIRES_SECONDS = 60  # the sweep has come by then
SWEEP = "work.sweep"

app = Celery("flux")
app.config_from_object("fluxsite.celery_settings")


@import_modules.connect
def declare_tasks(**_: object) -> None:
    """Name every declared kind as a task. Workers call it as they start; who only sends messages needs no task."""
    if not apps.ready:
        django.setup()
    from fluxcore.work import kinds
    from fluxsite import worker

    bodies = {SWEEP: worker.sweep_and_wake, **{kind.name: worker.runner(kind) for kind in kinds.every_kind()}}
    for name in bodies.keys() - app.tasks.keys():
        app.task(name=name, ignore_result=True)(bodies[name])


@setup_logging.connect
def _keep_our_logging(**_: object) -> None:
    """Being connected is the point: Celery then leaves Django's logging alone."""


@worker_shutting_down.connect
def _end_after_running_jobs(**_: object) -> None:
    from fluxsite import worker

    worker.end_soon()


def prepare_to_send() -> None:
    """Load what the first message needs, before the first caller waits for it."""
    _ = app.amqp.router, app.events


def wake(stored: Collection[str]) -> None:
    """Send a message for each kind, to its queue. A kind that is not declared here is the sweep's business."""
    from fluxcore.work import kinds

    for name in sorted({kind.name for kind in map(kinds.find, stored) if kind is not None}):
        send(name)


def route(name: str, *_: object, **__: object) -> dict[str, str]:
    """Celery's router: the queue of a task is the one its kind was declared with."""
    from fluxcore.work import kinds

    kind = kinds.find(name)
    return {"queue": kind.queue if kind else kinds.FAST}


def send(name: str, *, countdown: float = 0.0) -> None:
    """One message, now or in so many seconds. Raises when the broker does not answer."""
    app.send_task(
        name,
        countdown=countdown or None,
        expires=countdown + EXPIRES_SECONDS,
        ignore_result=True,
        retry=False,
    )


def wake_for_ready_rows() -> None:
    """Wake workers for every kind that has a row to run: messages may have been lost, or nobody was there."""
    from fluxcore import clock
    from fluxcore.models import Job
    from fluxcore.work import jobs

    wake(set(Job.objects.filter(jobs.ready(clock.now())).order_by().values_list("kind", flat=True).distinct()))
