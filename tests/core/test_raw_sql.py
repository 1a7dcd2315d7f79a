"""Raw SQL reads: the same rows as through Django, and the same errors."""

from __future__ import annotations

import pytest
from django.db import OperationalError, ProgrammingError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from fluxcore import raw_sql

pytestmark = pytest.mark.django_db(transaction=True)

SUM = "SELECT CAST(%s AS INTEGER) + CAST(%s AS INTEGER), 'a'"


@pytest.mark.storage
def test_with_execute_wrappers_a_read_gives_the_same_and_calls_them():
    quiet = raw_sql.read(SUM, [2, 3])
    with CaptureQueriesContext(connection) as heard:
        assert raw_sql.read(SUM, [2, 3]) == quiet == [(5, "a")]
    assert len(heard) == 1


@pytest.mark.storage
def test_a_failing_statement_raises_djangos_error():
    with pytest.raises((OperationalError, ProgrammingError)):
        raw_sql.read("SELECT nothing FROM nowhere WHERE x = %s", [1])


@pytest.mark.storage
def test_nothing_is_read_in_a_transaction_marked_for_rollback():
    with pytest.raises(TransactionManagementError), transaction.atomic():
        transaction.set_rollback(True)
        raw_sql.read(SUM, [2, 3])
