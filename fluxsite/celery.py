"""Celery rings the bell: over files in the data home by default, over Redis when REDIS_URL is set."""

from __future__ import annotations

import os

from celery import Celery
from celery.signals import setup_logging, worker_shutting_down

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
            "broker_url": "filesystem://",
            "broker_transport_options": {
                "data_folder_in": str(queue / "messages"),
                "data_folder_out": str(queue / "messages"),
                "control_folder": str(queue / "control"),
                "polling_interval": 0.2,
                "store_processed": False,
            },
        }
    app.conf.update(
        **broker,
        broker_connection_retry_on_startup=True,
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
def _finish_the_job_in_hand(**_: object) -> None:
    """Celery waits for its running task, and ours would go on for as long as there are jobs."""
    from fluxcore import jobs

    jobs.begin_no_more()


def ring() -> None:
    app.send_task("fluxcore.bell", expires=60, ignore_result=True, retry=False)


app.autodiscover_tasks(["fluxcore"])
