"""After a test that commits, what is in the tables is deleted and nothing else is done.

Django's flush empties every table, full or not, and writes all rights and kinds of content anew: most of such a test.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction

KEPT = {ContentType._meta.db_table, Permission._meta.db_table}


def empty_tables(_: Any) -> None:
    """In the place of `TransactionTestCase._fixture_teardown`."""
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    quoted = [connection.ops.quote_name(name) for name in sorted(set(names) - KEPT)]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join(
                f"SELECT {place} WHERE EXISTS (SELECT 1 FROM {name})" for place, name in enumerate(quoted)
            )
        )
        for (place,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {quoted[place]}")  # what refers to what is looked at when all is gone
