"""Table of errors: each has a stable code, an HTTP status, an exit status and a sentence."""

from __future__ import annotations

import pytest

from fluxcore import errors

# Callers branch on these: a change here is a change of the interface.
TABLE = {
    "bad_request": (400, 64),
    "bad_json": (400, 64),
    "bad_host": (400, 64),
    "unauthenticated": (401, 77),
    "forbidden": (403, 77),
    "origin_above_ceiling": (403, 77),
    "bad_origin": (403, 77),
    "not_found": (404, 66),
    "method_not_allowed": (405, 64),
    "not_acceptable": (406, 64),
    "conflict": (409, 75),
    "idempotency_key_reused": (409, 75),
    "running": (409, 75),
    "length_required": (411, 64),
    "too_large": (413, 65),
    "unsupported_media_type": (415, 65),
    "invalid": (422, 65),
    "rate_limited": (429, 75),
    "headers_too_large": (431, 64),
    "internal": (500, 70),
    "busy": (503, 75),
    "storage_unavailable": (503, 74),
    "outcome_unknown": (503, 74),
    "disk_full": (507, 74),
}


def ours() -> list[type[errors.FluxError]]:
    return [row for row in errors.table() if row.__module__ == "fluxcore.errors"]


def test_the_published_error_codes_exist():
    found = {row.code: (row.status, row.exit_status) for row in ours()}
    assert {code: found.get(code) for code in TABLE} == TABLE


def test_every_error_has_a_code_of_its_own():
    codes = [row.code for row in ours()]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("row", ours(), ids=lambda row: row.code)
def test_every_error_has_a_sentence_and_valid_statuses(row):
    assert row.message.rstrip("`").endswith((".", "..."))
    assert 400 <= row.status <= 599
    assert 64 <= row.exit_status <= 78
    assert row().body() == {"code": row.code, "message": row.message, "details": {}}


def test_details_and_retry_after_come_from_the_raiser():
    error = errors.Busy("Later.", retry_after=2.5, limit=7)
    assert error.body() == {"code": "busy", "message": "Later.", "details": {"limit": 7}}
    assert error.retry_after == 2.5


def test_every_refusal_has_the_exception_class_of_flux_memory():
    """ValueError for what was given, RuntimeError for limits, rights and states; a full quota is both."""
    both = {row.code for row in ours() if issubclass(row, ValueError) and issubclass(row, RuntimeError)}
    neither = {row.code for row in ours() if not issubclass(row, (ValueError, RuntimeError))}
    assert (both, neither) == ({"quota"}, {"internal"})
    given = {row.code for row in ours() if issubclass(row, ValueError)}
    assert {"invalid", "bad_json", "not_found", "too_large"} <= given
    assert not given & {"rate_limited", "busy", "not_started", "conflict", "forbidden", "running"}
