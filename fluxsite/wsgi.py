"""The REST door's application."""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")
os.environ["FLUX_DOOR"] = "rest"

from django.core.handlers.wsgi import WSGIHandler
from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()

from fluxcore import bell  # noqa: E402
from fluxsite import celery, checks, leash  # noqa: E402

checks.refuse_unfit()
celery.configure()
bell.on_ring(celery.ring)
leash.follow_parent()


def served() -> WSGIHandler:
    """For a process that opens the door: its encoder loads in the background, so that the first recall finds it."""
    from memory.embedding import choice

    choice.load_soon()
    return application
