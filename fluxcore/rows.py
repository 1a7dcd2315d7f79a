"""Raw inserts for hot paths: the model says how a value is stored, the ORM stays out of the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from django.db import connection, models


@lru_cache(maxsize=256)
def _statement(model: type[models.Model], names: tuple[str, ...]) -> tuple[str, tuple[models.Field[Any, Any], ...]]:
    fields = tuple(model._meta.get_field(name) for name in names)
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(item.column)) for item in fields)  # type: ignore[union-attr]
    table = quote(model._meta.db_table)
    return f"INSERT INTO {table} ({columns}) VALUES ", fields  # type: ignore[return-value]  # noqa: S608


def insert(model: type[models.Model], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows with one prepared statement."""
    sql, fields = _statement(model, tuple(names))
    values = f"({', '.join(['%s'] * len(fields))})"
    with connection.cursor() as cursor:
        cursor.executemany(sql + values, [_stored(fields, row) for row in rows])


def insert_returning(
    model: type[models.Model], names: Sequence[str], rows: Sequence[Sequence[Any]], returning: str
) -> list[Any]:
    """Insert rows in one statement and return one column of each, in order."""
    sql, fields = _statement(model, tuple(names))
    values = ", ".join([f"({', '.join(['%s'] * len(fields))})"] * len(rows))
    column = connection.ops.quote_name(returning)
    with connection.cursor() as cursor:
        cursor.execute(f"{sql}{values} RETURNING {column}", [value for row in rows for value in _stored(fields, row)])
        return [row[0] for row in cursor.fetchall()]


def _stored(fields: tuple[models.Field[Any, Any], ...], row: Sequence[Any]) -> list[Any]:
    return [item.get_db_prep_save(value, connection) for item, value in zip(fields, row, strict=True)]
