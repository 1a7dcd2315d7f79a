"""Celery's configuration: messages are files in the data home by default, or go over Redis when REDIS_URL is set."""

from __future__ import annotations

from django.conf import settings
from kombu import Exchange, Queue

from fluxcore.work.kinds import FAST, QUEUES
from fluxsite import file_broker

broker_transport_options: dict[str, object]
if settings.REDIS_URL:
    broker_url = settings.REDIS_URL
    broker_transport_options = {
        "visibility_timeout": 300,
        "global_keyprefix": f"flux:{settings.HOME.name}:",
        # A Redis that hangs must not block the thread that sends messages for long.
        "socket_timeout": 3,
        "socket_connect_timeout": 3,
    }
else:
    broker_url = f"{file_broker.SCHEME}://"
    broker_transport_options = {"folder": str(settings.HOME.queue), "polling_interval": 0.2}
broker_connection_retry_on_startup = True
broker_connection_max_retries = None  # no limit: a worker that gives up would end the instance

task_queues = [Queue(name, Exchange(name), routing_key=name) for name in QUEUES]
task_default_queue = FAST
task_routes = ["fluxsite.celery.route"]
task_serializer = "json"
accept_content = ["json"]
task_ignore_result = True
task_acks_late = False  # the job row is durable; the sweep replaces lost messages
worker_prefetch_multiplier = 1
worker_hijack_root_logger = False
worker_enable_remote_control = True  # `celery inspect registered|active|scheduled`
worker_send_task_events = False
enable_utc = True
timezone = "UTC"

beat_schedule_filename = str(settings.HOME.run / "beat")
# Beat only sends a message each minute; the rows of `ScheduleState` and `Job` decide what is due.
beat_schedule = {"sweep": {"task": "work.sweep", "schedule": 60.0, "options": {"expires": 50}}}
