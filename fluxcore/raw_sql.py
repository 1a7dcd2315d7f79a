"""Raw statements for hot paths: the model says how a value is stored, the ORM stays out of the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections, models

Adapt = Callable[[Any], Any]
# Stored as they are by both databases. Everything else is asked of its field.
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
    """As Django stores a time, without its detour over the current time zone: ours are UTC already."""
    if connection.vendor == "sqlite" and moment.tzinfo is UTC:
        return str(moment.replace(tzinfo=None))
    return connection.ops.adapt_datetimefield_value(moment)


@lru_cache(maxsize=256)
def _statement(model: type[models.Model], names: tuple[str, ...], vendor: str) -> tuple[str, str, list[Adapt | None]]:
    """The head of an INSERT, the marks of one row, and how each value is adapted."""
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


def upsert(model: type[models.Model], names: tuple[str, ...], rows: Sequence[Sequence[Any]], then: str) -> list[Any]:
    """Insert rows in one statement that ends with `then` (ON CONFLICT ... RETURNING ...); what it returns."""
    head, marks, adapts = _statement(model, names, connection.vendor)
    values = [value for row in rows for value in _stored(adapts, row)]
    with connection.cursor() as cursor:
        cursor.execute(f"{head}{', '.join([marks] * len(rows))} {then}", values)
        return list(cursor.fetchall())


def read(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """What a SELECT finds.

    On SQLite it goes to the library itself: what Django does around a statement costs more than the statement. It
    goes Django's way where somebody listens to statements, and in a transaction that must not go on.
    """
    line = connections[DEFAULT_DB_ALIAS]
    if vendor() != "sqlite" or line.queries_logged or line.execute_wrappers or line.needs_rollback:
        with line.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())
    if line.connection is None:
        line.ensure_connection()
    with line.wrap_database_errors:
        found: list[tuple[Any, ...]] = line.connection.execute(_marked(statement), values).fetchall()
        return found


@cache
def vendor() -> str:
    """Which database this is. A process has one, and to ask Django for it costs a tenth of a statement."""
    return connection.vendor


@lru_cache(maxsize=256)
def _marked(statement: str) -> str:
    """With SQLite's own marks for values."""
    return statement.replace("%s", "?")


def _stored(adapts: list[Adapt | None], row: Sequence[Any]) -> list[Any]:
    return [value if adapt is None or value is None else adapt(value) for adapt, value in zip(adapts, row, strict=True)]
