"""WSGI application of the REST server."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")
os.environ["FLUX_DOOR"] = "rest"

from fluxsite.run import gc_pause

gc_pause.pause_gc()

from django.core.wsgi import get_wsgi_application  # noqa: E402

application = get_wsgi_application()

from fluxcore.work import wakeup  # noqa: E402
from fluxsite import announcements, celery, checks  # noqa: E402
from fluxsite.run import parent_watch  # noqa: E402

checks.refuse_failed_checks()
wakeup.use(celery.wake)
celery.prepare_to_send()
announcements.from_a_thread()
parent_watch.exit_with_parent()
