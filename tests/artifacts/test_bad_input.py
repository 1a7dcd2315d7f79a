"""What stores refuse: paths that lead elsewhere in any encoding, texts no database stores, digests of a wrong shape.

Each is a 4xx with a code, whatever the database, and nothing of it is stored.
"""

from __future__ import annotations

import base64
import itertools
from urllib.parse import quote, quote_from_bytes

import pytest

from accounts.calls import handler
from accounts.tokens import authenticate
from flux import paths
from flux.calls import files as file_calls
from flux.calls import schema
from flux.calls import stores as store_calls
from flux.calls import transcripts as transcript_calls
from fluxcore.errors import FluxError, Invalid, InvalidPath
from memory.artifacts import comparing
from memory.artifacts.models import File, Message, Store
from tests.rest.routes import refused

pytestmark = [pytest.mark.django_db, pytest.mark.storage]

_OVERLONG = {".": (b"\xc0\xae", b"\xe0\x80\xae", b"\xf0\x80\x80\xae"), "/": (b"\xc0\xaf", b"\xe0\x80\xaf")}
_DOTS = (".", "%2e", "\uff0e", "\u2024", "\ufe52")  # plain, escaped, fullwidth, one dot leader, small full stop
_SLASHES = ("/", "\\", "%2f", "%5c", "\u2044", "\u2215", "\uff0f", "\uff3c", "\u29f5", "\u29f8", "\u2571")
_TWO_DOTS = ("\u2025", "\u2026", "..\u200d", ".\u200b.", ". .", ".. ", " ..", "..\u00a0", "...", "\u00b7\u00b7")
_ESCAPES = ("%", "%25", "%2525", "\uff05", "%ef%bc%85", "\ufe6a")  # of a percent sign, in several depths and widths


def traversals() -> set[str]:
    """Paths that lead elsewhere if somebody decodes, folds or trims them."""
    found = set()
    for one, other, slash in itertools.product(_DOTS, _DOTS, _SLASHES):
        found |= {f"{one}{other}{slash}x", f"a{slash}{one}{other}{slash}x", f"a{slash}{one}{other}"}
    for dots, slash in itertools.product(_TWO_DOTS, _SLASHES):
        found |= {f"{dots}{slash}x", f"a{slash}{dots}"}
    for escape, slash in itertools.product(_ESCAPES, ("/", "2f", "5c")):
        sign = slash if slash == "/" else f"{escape}{slash}"
        found |= {f"{escape}2e{escape}2e{sign}x", f"a{sign}{escape}2E.{sign}x", f"a/{escape}00", f"a{escape}0a"}
    found |= {"%" + "25" * depth + "2e%" + "25" * depth + "2e/x" for depth in range(12)}
    return found | {
        "/etc/passwd",
        "C:/x",
        "c:x",
        "a/../x",
        "a/./x",
        ".",
        "..",
        "a//x",
        "a/",
        "a/ /x",
        "a\\..\\x",
        "~/../x",
    }


def raw_addresses() -> set[bytes]:
    """The same as the bytes of an address, and bytes that are not UTF-8 or that some decoders read as dots."""
    found = {quote(path, safe="/").encode() for path in traversals()}
    dots = [(dot, b".", b"%2e") for dot in _OVERLONG["."]]
    for shapes, slash in itertools.product(dots, (*_OVERLONG["/"], b"/", b"%2f")):
        for one, other in itertools.product(shapes, shapes):
            if one in _OVERLONG["."] or slash in _OVERLONG["/"]:
                found.add(
                    quote_from_bytes(one, safe="%.").encode()
                    + quote_from_bytes(other, safe="%.").encode()
                    + quote_from_bytes(slash, safe="/%").encode()
                    + b"x"
                )
    ends = (
        b"%00",
        b"%ff",
        b"%80",
        b"%ed%a0%80",
        b"%f4%90%80%80",
        b"%e2%80%ae",
        b"%c2%85",
        b"%0a",
        b"%0d",
        b"%7f",
        b"%1b",
        b"%20",
    )
    return found | {b"a" + end for end in ends} | {end + b"/x" for end in ends} | {b"x" * 1025, b"%d0%b6" * 513}


def test_there_are_more_than_400_encodings():
    assert len(traversals()) > 800 and len(raw_addresses()) > 800  # half of them are sent over REST


@pytest.mark.either_database  # paths are refused before either is asked
def test_no_address_leads_out_of_a_store(alice):
    """The bytes of the address, as a server gets them."""
    for number, raw in enumerate(sorted(raw_addresses())[::2]):
        address = f"/stores/notes/files/{raw.decode()}"
        answer = alice.client.generic("PUT", address, b"x", headers=alice._headers(None))
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_path"), raw
        if number % 7 == 0:
            read = alice.client.generic("GET", address, headers=alice._headers(None))
            assert (read.status_code, read.json()["code"]) == (answer.status_code, answer.json()["code"]), raw
    assert not File.objects.exists()


@pytest.mark.either_database
def test_no_field_leads_out_of_a_store(alice):
    alice.write("here", "x")
    fields = itertools.cycle(
        (
            lambda path: alice.post("/stores/notes/move", {"path": "here", "to": path}),
            lambda path: alice.post("/stores/notes/move", {"path": path, "to": "there", "recursive": True}),
            lambda path: alice.post("/stores/notes/delete", {"path": path}),
            lambda path: alice.post("/stores", {"key": "other", "read_only_prefixes": [f"{path}/x"]}),
            lambda path: alice.get("/stores/notes/files", prefix=f"{path}/x"),
            lambda path: alice.get("/stores/notes/search", prefix=f"{path}/x", query="x"),
        )
    )
    for path in sorted(traversals()):
        with pytest.raises(InvalidPath):
            paths.checked_path(path)
        if len(path) % 2:
            continue
        answer = next(fields)(path)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_path"), (path, answer.content)
    assert alice.paths() == ["here"] and Store.objects.count() == 1


TEXTS = ("a\0b", "\ud800", "\n", "x" * 100_000, "", "\u202e", "%")
NUMBERS = (-1, 0, 2**63, 10**30, True, 1.5)
LISTS = ([], ["\0"], ["\ud800"], [{"content": "\ud800"}], [{"role": "\0", "content": ["\0"]}], {})
EXAMPLES = {
    file_calls.ReadFile: {"store": "notes", "path": "a.md"},
    file_calls.WriteFile: {"store": "notes", "path": "w.md", "text": "x"},
    file_calls.AppendFile: {"store": "notes", "path": "w.md", "text": "x"},
}


def hostile(call):
    """The example of a call with one field after the other replaced."""
    for name in schema.properties(call):
        for value in (*TEXTS, *NUMBERS, *LISTS):
            yield {**EXAMPLES.get(call, call.example), name: value}


def test_no_text_or_number_is_an_error_of_the_server(alice):
    """Any argument of any call is taken, or refused as the caller's mistake; by both databases."""
    alice.write("a.md", "text")
    who, codes = authenticate(alice.token), set()
    for call in (*store_calls.CALLS, *file_calls.CALLS, *transcript_calls.CALLS):
        for given in hostile(call) if call is not store_calls.DeleteStore else ():
            try:
                handler(call)(who, **given)
            except FluxError as error:
                assert 400 <= error.status < 500, (call, given, error)
                codes.add(error.code)
    assert {"invalid", "invalid_path", "not_found"} <= codes


def test_stores_of_any_name_and_texts_of_any_kind_over_rest(alice, with_stores):
    scoped = with_stores("artifacts.read:notes/**", "artifacts.write:notes/**", name="scoped")
    for store in ("a%00b", "%ff", "%f0%9f%98%80", "x" * 300, "..%2f..", "0" * 32):
        for api, status in ((alice, (404, 422)), (scoped, (403, 404, 422))):
            for method, tail in (("PUT", "files/x"), ("GET", "files/x"), ("GET", "audit"), ("DELETE", "")):
                address = f"/stores/{store}/{tail}".rstrip("/")
                answer = api.client.generic(method, address, b"", headers=api._headers(None))
                assert answer.status_code in status and answer.json()["code"], (address, answer.content)
    for name in ("reason", "actor"):
        for value in ("a\0b", "x" * 501):
            assert refused(alice.write("a", "x", **{name: value}), 422, "invalid")["field"] == name
    body = {"messages": [{"role": "user", "content": "x"}], "session": "a\nb"}
    assert refused(alice.post("/stores/notes/messages", body), 422, "invalid")["field"] == "session"
    assert not File.objects.exists() and not Message.objects.exists()


def test_expectations_of_another_shape(alice):
    alice.write("a", "1")
    for wrong in ("1", "g" * 64, "A" * 64, "0" * 63, "0" * 65, f" {'0' * 64}", "*", "null"):
        assert refused(alice.write("a", "2", expected_sha=wrong), 422, "invalid")["field"] == "expected_sha", wrong
        moved = alice.post("/stores/notes/move", {"path": "a", "to": "b", "expected_sha": wrong})
        assert refused(moved, 422, "invalid")["field"] == "expected_sha", wrong
        for header in (f'"{wrong}"', wrong, f'W/"{wrong}"', f'"{wrong}", "{wrong}"') if wrong[0] != " " else ():
            assert refused(alice.write("a", "2", headers={"If-Match": header}), 422, "invalid"), header
    assert alice.file("a").content == b"1"


def test_bytes_where_text_is_asked(alice):
    """Bytes that are no UTF-8 are no lines, no text and no difference of lines; they stay as they are."""
    alice.write("a.txt", b"caf\xe9\n")
    alice.write("a.txt", b"caf\xe9s\n")
    assert refused(alice.get("/stores/notes/diff/a.txt"), 422, "invalid")["path"] == "a.txt"
    read = handler(file_calls.ReadFile)(authenticate(alice.token), store="notes", path="a.txt")
    assert "text" not in read and base64.b64decode(read["base64"]) == b"caf\xe9s\n"
    with pytest.raises(Invalid):
        handler(file_calls.WriteFile)(authenticate(alice.token), store="notes", path="b", text="\udce9")
    assert alice.file("a.txt").content == b"caf\xe9s\n"


def test_texts_that_take_long_to_compare_are_refused(alice):
    lines = [f"{number}\n" for number in range(comparing.MAX_DIFF_LINES + 1)]
    alice.write("a.txt", "".join(lines))
    alice.write("a.txt", "".join(line if number % 2 else f"x{line}" for number, line in enumerate(lines)))
    assert refused(alice.get("/stores/notes/diff/a.txt"), 422, "invalid")["limit"] == comparing.MAX_DIFF_LINES
    alice.write("a.txt", b"x" * (comparing.MAX_DIFF_BYTES + 1))
    assert refused(alice.get("/stores/notes/diff/a.txt"), 422, "invalid")["limit"] == comparing.MAX_DIFF_BYTES
