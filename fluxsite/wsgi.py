"""The REST door's application."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")
os.environ["FLUX_DOOR"] = "rest"

from fluxsite import loading

loading.begins()

from django.core.wsgi import get_wsgi_application  # noqa: E402

application = get_wsgi_application()

from fluxcore import bell  # noqa: E402
from fluxsite import celery, checks, leash  # noqa: E402

checks.refuse_unfit()
celery.configure()
bell.on_ring(celery.ring)
leash.follow_parent()
