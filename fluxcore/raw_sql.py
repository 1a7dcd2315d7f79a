"""Raw SQL for hot paths: the model defines how values are stored, without the overhead of the ORM."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections, models

Adapt = Callable[[Any], Any]
# Fields whose values both databases store unchanged. Other values are converted by their field.
_PLAIN = (
    "CharField",
    "TextField",
    "BigIntegerField",
    "IntegerField",
    "PositiveIntegerField",
    "SmallIntegerField",
    "PositiveSmallIntegerField",
    "FloatField",
    "ForeignKey",
)


def _adapt(field: models.Field[Any, Any]) -> Adapt | None:
    kind = field.get_internal_type()
    if kind in _PLAIN:
        return None
    if kind == "DateTimeField":
        return adapt_moment
    return lambda value: field.get_db_prep_save(value, connection)


def adapt_moment(moment: datetime) -> Any:
    """A time as Django stores it, without its conversion to the current time zone: ours are UTC already."""
    if connection.vendor == "sqlite" and moment.tzinfo is UTC:
        return str(moment.replace(tzinfo=None))
    return connection.ops.adapt_datetimefield_value(moment)


@lru_cache(maxsize=256)
def _statement(model: type[models.Model], names: tuple[str, ...], vendor: str) -> tuple[str, str, list[Adapt | None]]:
    """The head of an INSERT, the placeholders of one row, and how each value is adapted."""
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    quote = connection.ops.quote_name
    columns = ", ".join(quote(field.column) for field in fields)
    head = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES "  # noqa: S608
    return head, f"({', '.join(['%s'] * len(fields))})", [_adapt(field) for field in fields]


def insert(model: type[models.Model], names: tuple[str, ...], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows with one prepared statement."""
    head, marks, adapts = _statement(model, names, connection.vendor)
    with connection.cursor() as cursor:
        cursor.executemany(head + marks, [_stored(adapts, row) for row in rows])


def upsert(model: type[models.Model], names: tuple[str, ...], rows: Sequence[Sequence[Any]], ending: str) -> list[Any]:
    """Insert rows in one statement with the given ending (ON CONFLICT ... RETURNING ...); returns its result."""
    head, marks, adapts = _statement(model, names, connection.vendor)
    values = [value for row in rows for value in _stored(adapts, row)]
    with connection.cursor() as cursor:
        cursor.execute(f"{head}{', '.join([marks] * len(rows))} {ending}", values)
        return list(cursor.fetchall())


def read(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The rows of a SELECT.

    On SQLite it calls the library directly, because Django's overhead costs more than the statement. It uses Django's
    cursor if statements are logged or wrapped, and in a transaction that must be rolled back.
    """
    wrapper = connections[DEFAULT_DB_ALIAS]
    if vendor() != "sqlite" or wrapper.queries_logged or wrapper.execute_wrappers or wrapper.needs_rollback:
        with wrapper.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())
    if wrapper.connection is None:
        wrapper.ensure_connection()
    with wrapper.wrap_database_errors:
        found: list[tuple[Any, ...]] = wrapper.connection.execute(_sqlite_statement(statement), values).fetchall()
        return found


@cache
def vendor() -> str:
    """The database vendor of this process, cached because Django's lookup takes a tenth of a statement's time."""
    return connection.vendor


@lru_cache(maxsize=256)
def _sqlite_statement(statement: str) -> str:
    """The statement with SQLite's placeholders."""
    return statement.replace("%s", "?")


def _stored(adapts: list[Adapt | None], row: Sequence[Any]) -> list[Any]:
    return [value if adapt is None or value is None else adapt(value) for adapt, value in zip(adapts, row, strict=True)]
