"""Bad input gets a clear 4xx with a stable code, the same on SQLite and PostgreSQL, and changes nothing."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from memory.grains.models import Grain
from tests.rest.routes import refused

JSON = {"Content-Type": "application/json"}


def raw(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


# Bodies that are no JSON object we take: what is sent, status, code.
BODIES: dict[str, tuple[str | bytes, int, str]] = {
    "nothing": ("", 400, "bad_json"),
    "spaces": ("   ", 400, "bad_json"),
    "no json": ("content=hello", 400, "bad_json"),
    "half an object": ('{"content": "x"', 400, "bad_json"),
    "half a text": ('{"content": "x', 400, "bad_json"),
    "something behind it": ('{"content": "x"} {}', 400, "bad_json"),
    "trailing comma": ('{"content": "x",}', 400, "bad_json"),
    "single quotes": ("{'content': 'x'}", 400, "bad_json"),
    "comment": ('{"content": "x" /* y */}', 400, "bad_json"),
    "bare control character": (b'{"content": "a\x01b"}', 400, "bad_json"),
    "bare NUL": (b'{"content": "a\x00b"}', 400, "bad_json"),
    "bad escape": ('{"content": "\\x41"}', 400, "bad_json"),
    "NaN": ('{"content": NaN}', 400, "bad_json"),
    "Infinity": ('{"content": Infinity}', 400, "bad_json"),
    "-Infinity": ('{"content": -Infinity}', 400, "bad_json"),
    "1e999": ('{"content": 1e999}', 400, "bad_json"),
    "-1e999": ('{"content": -1e999}', 400, "bad_json"),
    "2^53": ('{"content": 9007199254740992}', 400, "bad_json"),
    "2^63": ('{"content": 9223372036854775808}', 400, "bad_json"),
    "5,000 digits": ('{"content": ' + "9" * 5000 + "}", 400, "bad_json"),
    "minus 5,000 digits": ('{"content": -' + "9" * 5000 + "}", 400, "bad_json"),
    "a million digits behind the point": ('{"content": 1.' + "1" * 10**6 + "}", 422, "invalid"),
    "leading zero": ('{"content": 01}', 400, "bad_json"),
    "lone high surrogate": ('{"content": "a\\ud800b"}', 422, "invalid"),
    "lone low surrogate": ('{"content": "a\\udc00b"}', 422, "invalid"),
    "surrogates in wrong order": ('{"content": "\\udc00\\ud800"}', 422, "invalid"),
    "lone surrogate as a key": ('{"\\ud800": "x"}', 422, "invalid"),
    "lone surrogate in a reason": ('{"content": "x", "reason": "\\udfff"}', 422, "invalid"),
    "lone surrogate in UTF-8": (b'{"content": "\xed\xa0\x80"}', 400, "bad_json"),
    "overlong UTF-8": (b'{"content": "\xc0\xaf"}', 400, "bad_json"),
    "five-byte UTF-8": (b'{"content": "\xf8\x88\x80\x80\x80"}', 400, "bad_json"),
    "half a UTF-8 character": (b'{"content": "\xe2\x82"}', 400, "bad_json"),
    "latin-1": ('{"content": "é"}'.encode("latin-1"), 400, "bad_json"),
    "UTF-16": ('{"content": "x"}'.encode("utf-16"), 400, "bad_json"),
    "UTF-32": ('{"content": "x"}'.encode("utf-32-le"), 400, "bad_json"),
    "byte order mark": (b'\xef\xbb\xbf{"content": "x"}', 400, "bad_json"),
    "depth 33": ('{"content": ' + "[" * 32 + "]" * 32 + "}", 400, "bad_json"),
    "depth 10^5 of lists": ("[" * 10**5 + "]" * 10**5, 400, "bad_json"),
    "depth 10^5, never closed": ("[" * 10**5, 400, "bad_json"),
    "depth 10^5 of objects": ('{"a":' * 10**5 + "1" + "}" * 10**5, 400, "bad_json"),
    "depth 10^5 behind a text of brackets": ('["[[[]]]\\"",' + "[" * 10**5, 400, "bad_json"),
    "10^5 keys": ("{" + ",".join(f'"k{n}":1' for n in range(10**5)) + "}", 422, "invalid"),
    "10^6 values": ("[" + "1," * 10**6 + "1]", 400, "bad_json"),
    "10^6 empty lists": ("[" + "[]," * 10**6 + "1]", 400, "bad_json"),
    "10^6 texts": ("[" + '"",' * 10**6 + "1]", 400, "bad_json"),
    "duplicate key": ('{"content": "x", "content": "y"}', 400, "bad_json"),
    "duplicate key, spelt with an escape": ('{"content": "x", "c\\u006fntent": "y"}', 400, "bad_json"),
    "duplicate key inside": ('{"content": {"a": 1, "a": 2}}', 400, "bad_json"),
    "a list": ('[{"content": "x"}]', 422, "invalid"),
    "a text": ('"content"', 422, "invalid"),
    "a number": ("1", 422, "invalid"),
    "null": ("null", 422, "invalid"),
    "true": ("true", 422, "invalid"),
    "no field": ("{}", 422, "invalid"),
    "unknown field": ('{"content": "x", "colour": "red"}', 422, "invalid"),
    "a field of another case": ('{"Content": "x"}', 422, "invalid"),
    "an empty field name": ('{"content": "x", "": 1}', 422, "invalid"),
    "a field named like a dunder": ('{"content": "x", "__class__": {}}', 422, "invalid"),
    "a NUL in a field name": ('{"content": "x", "a\\u0000": 1}', 422, "invalid"),
}


@pytest.mark.parametrize("name", BODIES)
def test_it_refuses_the_body(api, name):
    body, status, code = BODIES[name]
    for path in ("/store", "/store/batch"):
        refused(api.post(path, raw=raw(body), headers=JSON), status, code)
    assert not Grain.objects.exists()


@pytest.mark.parametrize(
    ("call", "given", "allowed"),
    [
        ("/retrieve", {"q": "bees"}, "query"),
        ("/store", {"text": "x"}, "content"),
        ("/locks", {"name": "x"}, "lock"),
        ("/queues", {"queue": "x", "payload": 1}, "value"),
        ("/feedback", {"grain": "x"}, "grain_id"),
        ("/store/batch", {"grains": []}, "items"),
    ],
)
def test_an_unknown_field_is_answered_with_those_there_are(make_token, as_agent, call, given, allowed):
    api = as_agent(make_token(capabilities=("grains.read", "grains.write", "grains.feedback", "bb.write@main:*")))
    answer = api.post(call, given)
    details = refused(answer, 422, "invalid")
    assert details["field"] not in details["allowed"] and allowed in details["allowed"]
    assert answer.json()["message"] == f"Unknown field {details['field']!r}. Allowed: {', '.join(details['allowed'])}."


def test_fields_of_an_item_an_order_and_parameters_are_named_too(api, make_token, as_agent):
    (item,) = api.post("/store/batch", {"items": [{"content": "x", "colour": "red"}]}).json()["results"]
    assert "Unknown field 'colour'. Allowed: content, " in item["error"]["message"]
    assert refused(api.get("/grains", colour="red"), 422, "invalid")["allowed"]
    assert "has no parameters" in api.post("/store?colour=red", {"content": "x"}).json()["message"]
    own = as_agent(make_token("bob", capabilities=("memory.write:*",)))
    orders = [{"op": "set", "key": "k", "value": 1, "ttl": 5}]
    details = refused(own.post("/agents/bob/batch", {"operations": orders}), 422, "invalid")
    assert (details["field"], details["index"]) == ("ttl", 0) and {"ttl_secs", "value"} <= set(details["allowed"])


# Values of the wrong kind, for every field of a call.
OTHERS: tuple[Any, ...] = (0, 1, -1, 1.5, True, False, [], ["x"], {}, {"a": "b"}, 2**53 - 1)
TEXT_FIELDS = ("content", "provenance", "reason", "idempotency_key", "caller_id", "client", "role")


@pytest.mark.parametrize("field", TEXT_FIELDS)
def test_a_text_field_takes_only_texts(api, field):
    for value in OTHERS:
        details = refused(api.post("/store", {"content": "x", field: value}), 422, "invalid")
        assert details["field"] == field
        # The header's label or key does not excuse a broken one in the body.
        headers = {"X-Caller-Id": "a", "Idempotency-Key": "b"}
        refused(api.post("/store", {"content": "x", field: value}, headers=headers), 422, "invalid")
    assert not Grain.objects.exists()


@pytest.mark.parametrize("field", ["reason", "idempotency_key", "caller_id", "client", "role"])
def test_the_same_holds_for_a_batch(api, field):
    for value in OTHERS:
        refused(api.post("/store/batch", {"items": [{"content": "x"}], field: value}), 422, "invalid")
    assert not Grain.objects.exists()


NUL = {
    "content": {"content": "a\0b"},
    "only NUL": {"content": "\0"},
    "provenance": {"content": "x", "provenance": "ai_stated\0"},
    "reason": {"content": "x", "reason": "a\0b"},
    "idempotency key": {"content": "x", "idempotency_key": "a\0b"},
    "caller_id": {"content": "x", "caller_id": "a\0b"},
    "client": {"content": "x", "client": "\0"},
    "role": {"content": "x", "role": "b\0"},
}


@pytest.mark.parametrize("where", NUL)
def test_it_refuses_a_nul_wherever_it_stands(api, where):
    refused(api.post("/store", NUL[where]), 422, "invalid")
    assert not Grain.objects.exists()


BLANK = ["", " ", "\t\r\n", "\u3000", "\u00a0", "\u200b", "\ufeff", "\u2028\u2029", "\x1f", "\x7f\x80", "\u202e\u200d"]


@pytest.mark.parametrize("content", [None, *BLANK], ids=ascii)
def test_it_refuses_a_text_with_nothing_to_read_in_it(api, content):
    assert refused(api.post("/store", {"content": content}), 422, "invalid") == {"field": "content"}


TOO_LONG = {
    "content": ({"content": "x" * 16_385}, "content"),
    "content in bytes": ({"content": "é" * 8_193}, "content"),
    "a word of a mebibyte": ({"content": "w" * 2**20}, "content"),
    "reason": ({"content": "x", "reason": "r" * 501}, "reason"),
    "idempotency key": ({"content": "x", "idempotency_key": "k" * 129}, "idempotency_key"),
    "empty idempotency key": ({"content": "x", "idempotency_key": ""}, "idempotency_key"),
    "caller_id": ({"content": "x", "caller_id": "c" * 129}, "caller_id"),
    "client": ({"content": "x", "client": "c" * 61}, "client"),
    "role": ({"content": "x", "role": "r" * 61}, "role"),
    "non-ASCII key": ({"content": "x", "idempotency_key": "clé"}, "idempotency_key"),
    "key with a line break": ({"content": "x", "idempotency_key": "a\n"}, "idempotency_key"),
    "label with a line break": ({"content": "x", "caller_id": "a\n"}, "caller_id"),
    "label that turns text around": ({"content": "x", "caller_id": "a\u202eb"}, "caller_id"),
    "label with a zero width space": ({"content": "x", "role": "a\u200bb"}, "role"),
}


@pytest.mark.parametrize("what", TOO_LONG)
def test_it_refuses_what_is_too_long_or_malformed(api, what):
    body, field = TOO_LONG[what]
    assert refused(api.post("/store", body), 422, "invalid")["field"] == field
    assert not Grain.objects.exists()


@pytest.mark.parametrize("content", ["x" * 16_384, "é" * 8_192, "\U0001f98a" * 4_096])
def test_the_longest_text_fits(api, content):
    assert api.post("/store", {"content": content}).status_code == 200


HEADERS: dict[str, tuple[dict[str, str], int, str]] = {
    "no content type": ({"Content-Type": ""}, 415, "unsupported_media_type"),
    "a form": ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"),
    "multipart": ({"Content-Type": "multipart/form-data; boundary=x"}, 415, "unsupported_media_type"),
    "plain text": ({"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
    "text/json": ({"Content-Type": "text/json"}, 415, "unsupported_media_type"),
    "almost": ({"Content-Type": "application/jsonp"}, 415, "unsupported_media_type"),
    "another charset": ({"Content-Type": "application/json; charset=latin-1"}, 415, "unsupported_media_type"),
    "UTF-16": ({"Content-Type": "application/json; charset=utf-16"}, 415, "unsupported_media_type"),
    "two charsets": ({"Content-Type": "application/json; charset=latin-1; x=utf-8"}, 415, "unsupported_media_type"),
    "gzip": ({"Content-Encoding": "gzip"}, 415, "unsupported_media_type"),
    "deflate, gzip": ({"Content-Encoding": "deflate, gzip"}, 415, "unsupported_media_type"),
    "chunked": ({"Transfer-Encoding": "chunked"}, 411, "length_required"),
    "gzip, chunked": ({"Transfer-Encoding": "gzip, Chunked"}, 411, "length_required"),
    "a length that is no number": ({"Content-Length": "x"}, 400, "bad_json"),
    "a negative length": ({"Content-Length": "-5"}, 400, "bad_json"),
    "a length in other digits": ({"Content-Length": "١٦"}, 400, "bad_json"),
    "a length too short": ({"Content-Length": "5"}, 400, "bad_json"),
    "no length": ({"Content-Length": ""}, 400, "bad_json"),
    "a huge length": ({"Content-Length": "9" * 10}, 413, "too_large"),
    "a length of 5,000 digits": ({"Content-Length": "9" * 5000}, 413, "too_large"),
    "an empty key": ({"Idempotency-Key": ""}, 422, "invalid"),
    "a long key": ({"Idempotency-Key": "k" * 129}, 422, "invalid"),
    "a key with NUL": ({"Idempotency-Key": "a\0b"}, 422, "invalid"),
    "a key beyond ASCII": ({"Idempotency-Key": "clé"}, 422, "invalid"),
    "an empty label": ({"X-Caller-Id": ""}, 422, "invalid"),
    "a long label": ({"X-Caller-Id": "c" * 129}, 422, "invalid"),
    "a label with NUL": ({"X-Caller-Id": "a\0b"}, 422, "invalid"),
    "a label with a line break": ({"X-Caller-Id": "a\nb"}, 422, "invalid"),
    "a label beyond ASCII": ({"X-Caller-Id": "José"}, 422, "invalid"),
    "101 headers": ({f"X-Number-{n}": "1" for n in range(101)}, 431, "headers_too_large"),
    "10,000 headers": ({f"X-Number-{n}": "1" for n in range(10_000)}, 431, "headers_too_large"),
    "a header of 16 KiB": ({"X-Long": "x" * 16_384}, 431, "headers_too_large"),
    "a cookie of 1 MiB": ({"Cookie": "c" * 2**20}, 431, "headers_too_large"),
    "only HTML wanted": ({"Accept": "text/html"}, 406, "not_acceptable"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_it_refuses_the_headers(api, name):
    headers, status, code = HEADERS[name]
    body = b'{"content": "x"}'
    refused(api.post("/store", raw=body, headers=JSON | headers), status, code)
    assert not Grain.objects.exists()


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json; profile=x",
    ],
)
def test_it_takes_json_however_it_is_announced(api, kind):
    assert api.post("/store", {"content": "x"}, headers={"Content-Type": kind}).status_code == 200


def test_a_gzipped_body_is_not_unpacked(api):
    bomb = gzip.compress(b'{"content": "' + b"x" * 10**6 + b'"}')
    refused(api.post("/store", raw=bomb, headers=JSON), 400, "bad_json")
    refused(api.post("/store", raw=bomb, headers=JSON | {"Content-Encoding": "gzip"}), 415, "unsupported_media_type")


def test_an_oversize_body_is_refused_by_its_length_alone(api, settings):
    body = b'{"content": "' + b"x" * settings.MAX_BODY_BYTES + b'"}'
    assert refused(api.post("/store", raw=body, headers=JSON), 413, "too_large") == {
        "limit": settings.MAX_BODY_BYTES,
        "what": "bytes",
        "raised_by": "FLUX_MAX_BODY_BYTES",
        "without_limit": "flux import",
    }


def test_a_body_of_exactly_the_limit_is_read(api, settings):
    fits = b'{"content": "x"}'
    fits += b" " * (settings.MAX_BODY_BYTES - len(fits))
    assert api.post("/store", raw=fits, headers=JSON).status_code == 200


HOSTS = [
    "evil.example",
    "localhost.evil.example",
    "evil.example:7465",
    "127.0.0.1.evil.example",
    "127.0.0.1.nip.io",
    "localhost@evil.example",
    "localhost/",
    "localhost#",
    "[::2]",
    "0.0.0.0",
    "169.254.169.254",
    "",
    " ",
    "a,b",
    "localhost:port",
    "localhost\r\nX: y",
    "LOCALHOST evil",
    "[::1]evil",
    "localhost:80:80",
    "x" * 5000,
]


@pytest.mark.parametrize("host", HOSTS, ids=ascii)
def test_it_does_not_answer_to_another_host_name(api, host):
    refused(api.get("/grains", headers={"Host": host}), 400, "bad_host")
    refused(api.post("/store", {"content": "x"}, headers={"Host": host}), 400, "bad_host")


@pytest.mark.parametrize("header", ["X-Forwarded-Host", "X-Forwarded-Server", "X-Host", "Forwarded", "X-Original-Host"])
def test_no_other_header_names_the_host(api, header):
    assert api.get("/grains", headers={"Host": "localhost", header: "evil.example"}).status_code == 200
    refused(api.get("/grains", headers={"Host": "evil.example", header: "localhost"}), 400, "bad_host")


@pytest.mark.parametrize("host", ["localhost", "localhost:7465", "127.0.0.1:1", "[::1]:7465", "LocalHost"])
def test_it_answers_to_its_own_names(api, host):
    assert api.get("/grains", headers={"Host": host}).status_code == 200


ORIGINS = [
    "http://evil.example",
    "https://evil.example",
    "null",
    "",
    "http://localhost:3000",
    "http://localhost:7465.evil",
    "http://localhost",
    "http://127.0.0.1:7465",
    "http://user@localhost:7465",
    "file://",
    "chrome-extension://abc",
    "http://localhost:7465/",
    "http://localhost:7465 http://evil.example",
    "localhost:7465",
    "http://[",
    "*",
]


@pytest.mark.parametrize("origin", ORIGINS)
def test_pages_of_other_origins_may_not_call(api, origin):
    for answer in (
        api.get("/grains", headers={"Host": "localhost:7465", "Origin": origin}),
        api.post("/store", {"content": "x"}, headers={"Host": "localhost:7465", "Origin": origin}),
        api.client.options("/store", headers={"Host": "localhost:7465", "Origin": origin}),
    ):
        refused(answer, 403, "bad_origin")
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]
    assert not Grain.objects.exists()


def test_its_own_documentation_page_may_call(api):
    headers = {"Host": "localhost:7465", "Origin": "http://localhost:7465"}
    assert api.post("/store", {"content": "x"}, headers=headers).status_code == 200


def test_an_escape_is_one_character_and_not_six(api):
    grain = api.post("/store", raw=b'{"content": "\\ud83e\\udd8a \\u00e9 \\/"}', headers=JSON).json()["grain_id"]
    assert api.get(f"/grains/{grain}").json()["content"] == "\U0001f98a é /"


def test_a_batch_of_the_hardest_texts_to_compare_is_stored(api):
    # Marks in the worst order for Unicode's canonical ordering: by insertion this is minutes of work.
    worst = [{"content": f"{n}" + "\u0315\u0300" * 4_000} for n in range(20)]
    body = api.post("/store/batch", {"items": worst}).json()
    assert body["count"] == 20
    assert api.get(f"/grains/{body['grain_ids'][3]}").json()["content"] == worst[3]["content"]


def test_a_batch_with_many_brackets_in_its_texts_is_not_deep(api):
    text = json.dumps([[[['"[{"']]]] * 50) + "\\" * 7 + '"' + "[{" * 1000
    body = api.post("/store/batch", {"items": [{"content": f"{n} {text}"} for n in range(100)]}).json()
    assert body["count"] == 100
