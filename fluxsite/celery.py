"""The Celery application: a task for each kind of job, under the kind's own name, in the queue it belongs to.

A message contains no work: it says that there may be job rows of a kind, and the task claims them itself.
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

EXPIRES_SECONDS = 60  # the next sweep sends a new one
SWEEP = "work.sweep"

app = Celery("flux")
app.config_from_object("fluxsite.celery_settings")


@import_modules.connect
def declare_tasks(**_: object) -> None:
    """Register a task for every declared kind. Called when a worker starts; processes that only send need no tasks."""
    if not apps.ready:
        django.setup()
    from fluxcore.work import kinds
    from fluxsite import worker

    bodies = {SWEEP: worker.sweep_and_wake, **{kind.name: worker.runner(kind) for kind in kinds.every_kind()}}
    for name in bodies.keys() - app.tasks.keys():
        app.task(name=name, ignore_result=True)(bodies[name])


@setup_logging.connect
def _keep_our_logging(**_: object) -> None:
    """Empty receiver: if the signal has one, Celery does not change Django's logging."""


@worker_shutting_down.connect
def _end_after_running_jobs(**_: object) -> None:
    from fluxsite import worker

    worker.end_soon()


def prepare_to_send() -> None:
    """Load what the first message needs, before the first caller waits for it."""
    _ = app.amqp.router, app.events


def wake(stored: Collection[str]) -> None:
    """Send a message for each kind, to its queue. Kinds not declared in this process are left to the sweep."""
    from fluxcore.work import kinds

    for name in sorted({kind.name for kind in map(kinds.find, stored) if kind is not None}):
        send(name)


def route(name: str, *_: object, **__: object) -> dict[str, str]:
    """Celery's router: the queue of a task is that of its kind."""
    from fluxcore.work import kinds

    kind = kinds.find(name)
    return {"queue": kind.queue if kind else kinds.FAST}


def send(name: str, *, countdown: float = 0.0) -> None:
    """Send a message for a kind, now or after so many seconds. Raises an error if the broker does not answer."""
    app.send_task(
        name,
        countdown=countdown or None,
        expires=countdown + EXPIRES_SECONDS,
        ignore_result=True,
        retry=False,
    )


def wake_for_ready_rows() -> None:
    """Send a message for every kind with a row that is due, in case earlier messages were lost."""
    from fluxcore import clock
    from fluxcore.models import Job
    from fluxcore.work import jobs

    wake(set(Job.objects.filter(jobs.ready(clock.now())).order_by().values_list("kind", flat=True).distinct()))
