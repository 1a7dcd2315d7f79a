"""Celery rings the bell: over files in the data home by default, over Redis when REDIS_URL is set."""

from __future__ import annotations

import logging
import os
import threading
import time

from celery import Celery
from celery.signals import setup_logging, worker_shutting_down

from fluxsite import file_broker

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")

app = Celery("flux")


def configure() -> None:
    from django.conf import settings

    queue = settings.HOME.queue
    if settings.REDIS_URL:
        broker: dict[str, object] = {
            "broker_url": settings.REDIS_URL,
            "broker_transport_options": {
                "visibility_timeout": 300,
                "global_keyprefix": f"flux:{settings.HOME.name}:",
                # A Redis that hangs must not hold up the booth that rings after its commit.
                "socket_timeout": 3,
                "socket_connect_timeout": 3,
            },
        }
    else:
        broker = {
            "broker_url": f"{file_broker.SCHEME}://",
            "broker_transport_options": {"folder": str(queue), "polling_interval": 0.2},
        }
    app.conf.update(
        **broker,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # a worker that gives up would end the instance
        task_default_queue="flux",
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_acks_late=False,  # the job row is what survives; a lost ring is made up by the minute
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        enable_utc=True,
        timezone="UTC",
        beat_schedule_filename=str(settings.HOME.run / "beat"),
        beat_schedule={"minute": {"task": "fluxcore.minute", "schedule": 60.0, "options": {"expires": 50}}},
    )


@setup_logging.connect
def _keep_our_logging(**_: object) -> None:
    """Being connected is the point: Celery then leaves Django's logging alone."""


@worker_shutting_down.connect
def _leave_after_the_job_in_hand(**_: object) -> None:
    threading.Thread(target=_leave, name="leaving", daemon=True).start()


def _leave() -> None:
    """Celery itself may take seconds to notice. It holds nothing: jobs are rows, and a lost ring costs a minute."""
    from fluxcore import jobs

    jobs.finish_and_begin_no_more()
    logging.shutdown()
    os._exit(0)


def sweep_without_the_broker() -> None:
    """Beat rings the minute through the broker. While that is away the worker looks by itself."""
    from django.db import connection

    from fluxcore import sweep

    minute = float(app.conf.beat_schedule["minute"]["schedule"])
    while True:
        time.sleep(minute / 6)
        if sweep.overdue(minute * 1.25):
            sweep.sweep()
            connection.close()


def ring() -> None:
    app.send_task("fluxcore.bell", expires=60, ignore_result=True, retry=False)


app.autodiscover_tasks(["fluxcore"])
