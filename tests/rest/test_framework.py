"""The REST server imports no unused optional packages of REST framework, such as PostgreSQL's driver on SQLite."""

from __future__ import annotations

import json

from django.core.exceptions import RequestDataTooBig

from memory.api.errors import as_flux_error


def test_a_body_that_django_finds_too_large_is_refused_with_its_limit(settings):
    error = as_flux_error(RequestDataTooBig())
    assert (error.status, error.details["limit"]) == (413, settings.MAX_BODY_BYTES)
    assert "FLUX_MAX_BODY_BYTES" in error.message


LOADED = """
import json, sys
import memory.api.urls
from rest_framework import compat
assert compat.postgres_fields is None
print(json.dumps([name for name in ("psycopg", "requests", "jinja2", "rest_framework") if name in sys.modules]))
from django.contrib.postgres import fields
"""


def test_the_door_loads_no_driver_of_another_database_and_no_client(instance):
    one = instance()
    one.folder.mkdir(parents=True, mode=0o700)
    said = one.command("shell", "-v", "0", "-c", LOADED).stdout.strip().splitlines()[-1]
    assert json.loads(said) == ["rest_framework"]  # and whoever wants those fields can have them afterwards
