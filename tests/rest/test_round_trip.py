"""A text comes back byte for byte or is refused; strict JSON is read as every other reader reads it."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fluxcore import canonical_json
from fluxcore.errors import BadJSON, Invalid
from memory.grains import texts

TEXTS = {
    "bidi": "abc \u202edef\u202c \u2066ghi\u2069 \u061c\u200f",
    "zero width": "a\u200bb\u200cc\u200dd\ufeffe\u2060f",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "four bytes": "\U0001f98a \U00010348 \U0010ffff \U000e0041",
    "decomposed": "e\u0301 n\u0303 \u1112\u1161\u11ab",
    "composed": "é ñ 한",
    "ligatures and compatibility": "\ufb01 \u210c \u2460 \uff46\uff55 \u212b \u2126",
    "controls": "".join(chr(n) for n in range(1, 32)) + "x\x7f\x80\x9f",
    "separators": "a\u2028b\u2029c\u0085d\u000be\u000cf",
    "spaces at the edges": "  \t x \r\n ",
    "line ends": "a\r\nb\rc\nd",
    "non-characters": "x\ufffe\uffff\U0001fffe",
    "replacement": "x\ufffd",
    "private use": "\ue000\U000f0000",
    "unassigned": "x\u0378\U0003ffff",
    "quotes and slashes": "\"'\\/`${x}{{y}}%s%(z)s<script>&amp;\\u0041\\0",
    "SQL": "'; DROP TABLE grains_grain; -- %s ? :1 $1",
    "zalgo": "Z" + "\u0300\u0316\u0334\u0489" * 40,
    "tags and turkish": "\u0130I\u0131i \u00df \u1e9e",
    "long word": "w" * 16_384,
}


@pytest.mark.parametrize("name", TEXTS)
def test_it_comes_back_byte_for_byte(api, name):
    text = TEXTS[name]
    for body in (json.dumps({"content": text}), json.dumps({"content": text}, ensure_ascii=False)):
        answer = api.post("/store", raw=body.encode())
        assert answer.status_code == 200, answer.content
        grain = answer.json()["grain_id"]
    assert api.get(f"/grains/{grain}").json()["content"] == text
    assert api.get("/grains").json()["grains"][0]["content"] == text


def test_composed_and_decomposed_twins_are_one_statement_in_the_words_first_used(api):
    first = api.post("/store", {"content": "cafe\u0301"}).json()
    second = api.post("/store", {"content": "caf\u00e9"}).json()
    assert (second["status"], second["grain_id"]) == ("corroborated", first["grain_id"])
    assert api.get(f"/grains/{first['grain_id']}").json()["content"] == "cafe\u0301"


any_text = st.text(st.characters(codec=None, exclude_categories=()), min_size=0, max_size=60)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(any_text)
@example("\ud800")
@example("\0")
@example("a\0")
def test_any_text_comes_back_or_is_refused(api, configure, text):
    configure(MAX_GRAINS_PER_MINUTE=1_000_000)
    answer = api.post("/store", {"content": text})
    if answer.status_code == 200:
        assert api.get(f"/grains/{answer.json()['grain_id']}").json()["content"].split() == text.split() or (
            answer.json()["status"] == "corroborated"
        )
        if answer.json()["status"] == "stored":
            assert api.get(f"/grains/{answer.json()['grain_id']}").json()["content"] == text
    else:
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
        storable = "\0" not in text and all(not 0xD800 <= ord(character) <= 0xDFFF for character in text)
        assert not (storable and any(character.isalnum() for character in text))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200) | any_text.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_get_a_verdict_and_no_server_error(api, configure, body):
    configure(MAX_GRAINS_PER_MINUTE=1_000_000)
    answer = api.post("/store", raw=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 400, 422)


numbers = st.integers(-canonical_json.MAX_INTEGER, canonical_json.MAX_INTEGER) | st.floats(
    allow_nan=False, allow_infinity=False
)
plain = st.text(st.characters(codec="utf-8"), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | numbers | plain,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain, inner, max_size=4),
    max_leaves=30,
)


@settings(max_examples=300, deadline=None)
@given(values, st.booleans())
def test_what_json_can_say_is_read_as_it_was_meant(value, escaped):
    assert canonical_json.loads(json.dumps(value, ensure_ascii=escaped).encode()) == value


fragments = st.lists(
    st.sampled_from(
        [
            b"{",
            b"}",
            b"[",
            b"]",
            b":",
            b",",
            b'"',
            b"\\",
            b"\\u",
            b"d800",
            b"dc00",
            b"0",
            b"-",
            b"1e",
            b"9" * 20,
            b"NaN",
            b"null",
            b"true",
            b" ",
            b'"a"',
            b'"a":',
            b"\x00",
            b"\xff",
            b"\xef\xbb\xbf",
            b"Infinity",
            b".",
            b"\xf0\x9f\xa6\x8a",
        ]
    ),
    max_size=60,
).map(b"".join)


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=300) | fragments | fragments.map(lambda middle: b'{"a":"' + middle + b'"}'))
@example(b'["' + b"\\\\" * 50 + b'",' + b"[" * 40 + b"]" * 41)
@example(b'["' + b'\\"' * 50 + b'",' + b"[" * 20 + b"]" * 21)
def test_any_bytes_are_read_like_everywhere_or_refused(body):
    try:
        value = canonical_json.loads(body)
    except (BadJSON, Invalid):
        return
    assert value == json.loads(body)  # a reader that is laxer, never different
    assert canonical_json.loads(canonical_json.dumps(value).encode()) == value


@pytest.mark.parametrize("depth", [1, 31, 32, 33, 34, 500])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"[":', "}"), ('[{"a\\\\":', "}]")])
def test_depth_is_counted_exactly(depth, opening, closing):
    levels = depth * opening.count("[") if opening == "[" else depth * (2 if opening.startswith("[{") else 1)
    body = (opening * depth + "0" + closing * depth).encode()
    if levels <= canonical_json.MAX_DEPTH:
        canonical_json.loads(body)
    else:
        with pytest.raises(BadJSON, match="deeper"):
            canonical_json.loads(body)


marks = "".join(chr(n) for n in range(0x300, 0x370)) + "\u05b0\u0f71\u0f72\u0f73\u0f74\u0f75\u0f81\u3099\u0344"
letters = "aeo\u00e9\u1ea5\u1100\u1161\u11a8\uac00\u0958\ufb2c\u2126\u0308"


@settings(max_examples=500, deadline=None)
@given(st.text(st.sampled_from(marks + letters) | st.characters(codec="utf-8"), max_size=40))
def test_our_composition_is_unicodes(text):
    assert texts._composed(text) == unicodedata.normalize("NFC", text)
