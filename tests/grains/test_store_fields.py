"""What may be said about a text when it is stored, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memory.grains.models import Grain
from tests.rest.routes import refused

pytestmark = pytest.mark.storage
WHOLE = {
    "content": "Bo moved to Lisbon",
    "provenance": "user_stated",
    "session": "chat 7",
    "speaker": "Ada Lovelace",
    "time": "2026-03-02T09:00:00+01:00",
    "tags": ["people", "Über uns"],
    "valid_from": "2026-03-01T00:00:00Z",
    "valid_to": "2027-01-01t00:00:00.25z",
}


def test_everything_said_about_a_text_is_kept(api):
    assert api.post("/store", WHOLE).status_code == 200
    grain = Grain.objects.get()
    assert (grain.text, grain.session, grain.speaker, grain.tags) == (
        "Bo moved to Lisbon",
        "chat 7",
        "Ada Lovelace",
        ["people", "Über uns"],
    )
    assert grain.said_at == datetime(2026, 3, 2, 8, tzinfo=UTC)
    assert (grain.valid_from, grain.valid_to) == (
        datetime(2026, 3, 1, tzinfo=UTC),
        datetime(2027, 1, 1, 0, 0, 0, 250_000, tzinfo=UTC),
    )
    assert (grain.origin, grain.authority, grain.enriched) == ("user_stated", 1, False)


def test_all_of_it_may_be_left_out_or_null(api):
    for number, body in enumerate(
        [{}, dict.fromkeys(["session", "speaker", "time", "tags", "valid_from", "valid_to"])]
    ):
        assert api.post("/store", {"content": f"plain {number}", **body}).status_code == 200
    for grain in Grain.objects.all():
        assert (grain.session, grain.speaker, grain.tags, grain.ordinal) == ("", "", [], 0)
        assert (grain.said_at, grain.valid_from, grain.valid_to) == (None, None, None)


@pytest.mark.parametrize(("origin", "authority"), [("user_stated", 1), ("ai_stated", 2), ("external_source", 4)])
def test_authority_follows_the_origin(api, origin, authority):
    api.post("/store", {"content": "x", "provenance": origin})
    assert Grain.objects.get().authority == authority


TIMES = {
    "naive": "2026-03-02T09:00:00",
    "a date only": "2026-03-02",
    "words": "yesterday",
    "empty": "",
    "no such day": "2026-02-30T00:00:00Z",
    "no such hour": "2026-02-03T24:00:00Z",
    "a leap second": "2026-12-31T23:59:60Z",
    "an offset of days": "2026-03-02T09:00:00+99:00",
    "before 1900": "1899-12-31T23:59:59Z",
    "year 0": "0000-01-01T00:00:00Z",
    "year 1 east of UTC": "0001-01-01T00:00:00+14:00",
    "beyond 9999": "9999-12-31T23:59:59-01:00",
    "five digits": "10000-01-01T00:00:00Z",
    "a number": 1_700_000_000,
    "a list": ["2026-03-02T09:00:00Z"],
    "true": True,
    "other digits": "\uff12\uff10\uff12\uff16-03-02T09:00:00Z",
    "a NUL": "2026-03-02T09:00:00Z\0",
    "a line end": "2026-03-02T09:00:00Z\n",
}


@pytest.mark.either_database
@pytest.mark.parametrize("field", ["time", "valid_from", "valid_to"])
@pytest.mark.parametrize("what", TIMES)
def test_a_time_nobody_can_be_sure_of_is_refused(api, what, field):
    assert refused(api.post("/store", {"content": "x", field: TIMES[what]}), 422, "invalid") == {"field": field}
    assert not Grain.objects.exists()


@pytest.mark.parametrize("moment", ["1900-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "2024-02-29 12:00:00-11:30"])
def test_times_at_the_edges_come_back(api, moment):
    assert api.post("/store", {"content": "x", "time": moment, "valid_from": moment}).status_code == 200
    grain = Grain.objects.get()
    assert grain.said_at == grain.valid_from == datetime.fromisoformat(moment)


@pytest.mark.parametrize("other", ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2025-01-01T00:00:00Z"])
def test_a_validity_that_ends_before_it_begins_is_refused(api, other):
    body = {"content": "x", "valid_from": "2026-01-01T00:00:00Z", "valid_to": other}
    assert refused(api.post("/store", body), 422, "invalid") == {"field": "valid_from"}


NAMES = {
    "empty": "",
    "blank": "   ",
    "too long": "n" * 129,
    "a number": 7,
    "false": False,
    "a list": ["a"],
    "a NUL": "a\0b",
    "a line break": "a\nb",
    "a tab": "a\tb",
    "turns text around": "a\u202eb",
    "zero width": "a\u200bb",
    "a soft hyphen": "a\u00adb",
    "a control of C1": "a\u0085b",
}


@pytest.mark.either_database
@pytest.mark.parametrize("field", ["session", "speaker"])
@pytest.mark.parametrize("what", NAMES)
def test_a_name_that_cannot_be_read_is_refused(api, what, field):
    assert refused(api.post("/store", {"content": "x", field: NAMES[what]}), 422, "invalid") == {"field": field}
    assert not Grain.objects.exists()


@pytest.mark.parametrize("name", ["x", "é" * 128, "王小明", "  padded ", "a\u00a0b", "\U0001f98a" * 128, "'; DROP --"])
def test_a_name_comes_back_as_it_was(api, name):
    assert api.post("/store", {"content": "x", "session": name, "speaker": name}).status_code == 200
    assert Grain.objects.values_list("session", "speaker").get() == (name, name)


TAGS = {
    "a text": "people",
    "an object": {"a": 1},
    "a number": 3,
    "seventeen": [str(number) for number in range(17)],
    "a tag twice": ["a", "b", "a"],
    "an empty one": [""],
    "a blank one": [" "],
    "one too long": ["t" * 65],
    "a number in it": [1],
    "null in it": [None],
    "a list in it": [["a"]],
    "a NUL in it": ["a\0"],
    "a hidden one": ["a\u200b"],
}


@pytest.mark.either_database
@pytest.mark.parametrize("what", TAGS)
def test_tags_are_a_short_list_of_different_names(api, what):
    assert refused(api.post("/store", {"content": "x", "tags": TAGS[what]}), 422, "invalid") == {"field": "tags"}
    assert not Grain.objects.exists()


@pytest.mark.parametrize("tags", [[], ["t" * 64], [f"tag {number}" for number in range(16)], ["a", "A", "ä"]])
def test_tags_come_back_in_their_order(api, tags):
    assert api.post("/store", {"content": "x", "tags": tags}).status_code == 200
    assert Grain.objects.get().tags == tags


def test_a_bad_field_costs_only_its_item_of_a_batch(api):
    items = [{"content": "a", "time": "now"}, {"content": "b", "session": ""}, {"content": "c", "tags": ["x"]}]
    items += [{"content": "d", "reason": "said in chat"}]
    results = api.post("/store/batch", {"items": items}).json()["results"]
    assert [result["status"] for result in results] == ["refused", "refused", "stored", "refused"]
    assert [result["error"] and result["error"]["details"]["field"] for result in results] == [
        "time",
        "session",
        None,
        "reason",
    ]


def test_a_key_used_with_another_session_is_a_conflict(api):
    headers = {"Idempotency-Key": "k"}
    assert api.post("/store", {"content": "x", "session": "a"}, headers=headers).status_code == 200
    assert api.post("/store", {"content": "x", "session": "a"}, headers=headers).json()["status"] == "stored"
    refused(api.post("/store", {"content": "x", "session": "b"}, headers=headers), 409, "idempotency_key_reused")
