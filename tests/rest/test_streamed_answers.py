"""Streamed calls without the REST server around them: other servers, and contents that lie in another place."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from django.test import RequestFactory
from django.urls import path
from rest_framework.request import Request

from accounts.principals import shell
from fluxcore import blobs, body_file
from fluxcore.errors import BadRequest, TooLarge, UnsupportedMediaType
from memory.api import file_answers, streaming, urls


class OneStreamedCall(streaming.StreamingCall):
    streamed = ("PUT", "POST")


def request(method="GET", body=b"", **headers):
    return Request(RequestFactory().generic(method, "/x", body, **headers))


def kept():
    return list(file_answers.folder().glob(".*"))


@pytest.fixture
def elsewhere(tmp_path):
    """Contents in a place without files of this machine."""
    return blobs.store_at(f"memory://{tmp_path.name}", tmp_path)


def test_a_streamed_call_is_found_by_method_and_address(configure):
    configure(MAX_FILE_BYTES=7)
    routes = streaming.StreamedRoutes([path("a/<str:name>", OneStreamedCall.as_view()), *urls.urlpatterns])
    assert routes
    assert routes.admission("PUT", "/a/x")(shell()) == routes.admission("POST", "/a/y")(shell()) == 7
    for method, address in (("GET", "/a/x"), ("PUT", "/a/x/y"), ("PUT", "/a/"), ("PUT", "/store"), ("PUT", "")):
        assert routes.admission(method, address) is None


def test_a_body_is_a_file_that_is_gone_afterwards():
    with streaming.received(request("PUT", b"content"), 100) as body:
        assert (body.size, b"".join(body), body.path.stat().st_mode & 0o777) == (7, b"content", 0o600)
        assert len(kept()) == 1
    assert kept() == []


def test_a_body_above_the_cap_leaves_nothing():
    with pytest.raises(TooLarge), streaming.received(request("PUT", b"x" * 101), 100):
        pass
    assert kept() == []


def test_a_body_that_did_not_come_leaves_nothing():
    with (
        pytest.raises(BadRequest),
        streaming.received(request("PUT", CONTENT_LENGTH="9", **{"wsgi.input": io.BytesIO(b"half")}), 100),
    ):
        pass
    assert kept() == []


def test_a_compressed_body_is_refused():
    compressed = request("PUT", b"x", HTTP_CONTENT_ENCODING="gzip")
    with pytest.raises(UnsupportedMediaType), streaming.received(compressed, 100):
        pass


def test_a_body_becomes_a_blob_without_being_written_twice():
    store = blobs.of_instance()
    with streaming.received(request("PUT", b"moved"), 100) as body:
        inode = body.path.stat().st_ino
        store.take(body.path, blobs.Blob(body.sha256, body.size))
    found = store.path(body.sha256)
    assert found is not None and (found.read_bytes(), found.stat().st_ino) == (b"moved", inode)


def test_a_body_is_copied_to_another_disk(tmp_path_factory):
    other = Path("/dev/shm")
    if not other.is_dir() or other.stat().st_dev == file_answers.folder().parent.stat().st_dev:
        pytest.skip("there is no second file system here")
    store = blobs.store_at(f"file://{other}/flux-tests-{os.getpid()}", tmp_path_factory.mktemp("unused"))
    with streaming.received(request("PUT", b"copied"), 100) as body:
        store.take(body.path, blobs.Blob(body.sha256, body.size))
    assert b"".join(store.read(body.sha256)) == b"copied"
    store.delete(body.sha256)


@pytest.mark.parametrize(("asked", "wanted"), [("", b"0123456789"), ("bytes=2-4", b"234"), ("bytes=-1", b"9")])
def test_what_lies_elsewhere_is_copied_as_far_as_it_is_asked_for(db, elsewhere, asked, wanted):
    blob = elsewhere.put([b"0123456789"])
    answer = streaming.blob_answer(request(HTTP_RANGE=asked), elsewhere, blob.digest)
    assert isinstance(answer, file_answers.FileAnswer) and answer.temporary
    assert (answer.path.read_bytes(), b"".join(answer)) == (wanted, wanted)
    assert (answer.start, answer.stop, answer["Content-Length"]) == (0, len(wanted), str(len(wanted)))
    answer.close()
    assert not answer.path.exists()


@pytest.mark.parametrize("given", [{"method": "HEAD"}, {"HTTP_RANGE": "bytes=10-"}, {"HTTP_IF_NONE_MATCH": "same"}])
def test_what_nobody_is_going_to_read_is_not_copied(elsewhere, given):
    blob = elsewhere.put([b"0123456789"])
    given = {name: f'"{blob.digest}"' if value == "same" else value for name, value in given.items()}
    streaming.blob_answer(request(**given), elsewhere, blob.digest)
    assert kept() == []


def test_a_file_that_was_made_for_an_answer_goes_with_it(db):
    made = body_file.spool([b"made"], file_answers.folder())
    answer = streaming.made_file_answer(made.path, name="made.txt")
    assert answer["Content-Disposition"] == 'attachment; filename="made.txt"'
    assert b"".join(answer) == b"made"
    answer.close()
    answer.close()
    assert kept() == []
