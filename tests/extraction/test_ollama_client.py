"""One call of the model server: to its address and nowhere else, and over in time"""

from __future__ import annotations

import gc
import time

import pytest

from memory.extraction import ollama_client
from memory.extraction.ollama_client import BadModelAnswer, ModelCallStopped, ModelUnavailable
from tests.extraction.ollama import MODES, Ollama, envelope, hangs, http, running, trickles, trickles_headers

BODY = {"messages": [{}, {"content": '{"text": "a"}'}]}


@pytest.fixture(scope="module")
def server():
    with running() as one:
        yield one


def says(server: Ollama, answer: bytes) -> str:
    server.behave(lambda _, line, __: line.sendall(answer))
    return server.url


def test_what_the_model_said_and_what_it_cost(server):
    assert ollama_client.ask_model(says(server, http(envelope("hello"))), BODY, seconds=5) == ollama_client.ModelReply(
        "hello", 340
    )


@pytest.mark.parametrize("count", [None, -1, 10**8, "7", True, 1.5])
def test_a_server_that_cannot_count_is_not_believed(server, count):
    assert (
        ollama_client.ask_model(says(server, http(envelope("hello", eval_count=count))), BODY, seconds=5).tokens is None
    )


@pytest.mark.parametrize("mode", [hangs, trickles, trickles_headers])
def test_the_time_out_is_for_all_of_it(server, mode):
    server.behave(mode)
    began = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"no answer within 0\.2 seconds"):
        ollama_client.ask_model(server.url, BODY, seconds=0.2)
    assert time.monotonic() - began < 30, "it would trickle for ever"


def test_a_process_that_is_to_end_lets_go(server):
    server.behave(hangs)
    with pytest.raises(ModelCallStopped):
        ollama_client.ask_model(server.url, BODY, seconds=60, stop=lambda: True)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (http(b"", "302 Found", "Location: http://127.0.0.1:9/"), "redirects"),
        (http(b'{"error": "model \\"x\\" not found"}', "404 Not Found"), "404: the model is not installed there"),
        (http(b"x", "503 Service Unavailable"), "503"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "no connection"),
    ],
)
def test_what_another_try_would_not_mend(server, answer, problem):
    with pytest.raises(ModelUnavailable, match=problem):
        ollama_client.ask_model(says(server, answer), BODY, seconds=5)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (http(envelope("a"), "200 OK", length=10_000), "cut off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{", "cut off"),
        (http(b"\x1f\x8b", "200 OK", "Content-Encoding: gzip"), "compressed"),
        (http(envelope("a", done=False)), "not from an Ollama server"),
        (http(envelope("a", message="a")), "not from an Ollama server"),
        (http(envelope("  ")), "empty"),
        (http(b"[" * 200_000), "not JSON"),
        (http(b"[]"), "not from an Ollama server"),
        (http(b"x" * (ollama_client.MAX_BYTES + 1)), "more than 256 KiB"),
    ],
)
def test_an_answer_that_cannot_be_used(server, answer, problem):
    with pytest.raises(BadModelAnswer, match=problem):
        ollama_client.ask_model(says(server, answer), BODY, seconds=5)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:11434",
        "ftp://localhost",
        "file:///etc/passwd",
        "http://",
        "http://user:pw@localhost",
        "http://localhost:0",
        "http://localhost:99999",
        "http://localhost/?x=1",
        "http://localhost/#x",
        "http://local host",
        "http://löcal",
        "http://[::1",
        "unix:///tmp/a",
    ],
)
def test_only_an_address_of_http_is_spoken_to(url):
    assert ollama_client.url_problem(url)
    with pytest.raises(ModelUnavailable):
        ollama_client.ask_model(url, BODY, seconds=1)


def test_a_path_of_the_address_is_kept(server):
    ollama_client.ask_model(says(server, http(envelope("a"))) + "/models/", BODY, seconds=5)
    assert server.paths[-1] == "/models/api/chat"


def test_no_proxy_of_the_environment_is_used(server, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert ollama_client.ask_model(says(server, http(envelope("a"))), BODY, seconds=5).content == "a"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mode", ["fails", "html", "floods"])
def test_the_line_is_closed_after_each_call(server, mode):
    server.behave(MODES[mode])
    with pytest.raises(ollama_client.ModelProblem):
        ollama_client.ask_model(server.url, BODY, seconds=2)
    gc.collect()


def test_a_connection_that_nobody_takes_is_too_late_and_no_other_fault(monkeypatch):
    def never(*_, **__):
        raise TimeoutError

    monkeypatch.setattr("socket.create_connection", never)
    with pytest.raises(ollama_client.ModelTimedOut):
        ollama_client.ask_model("http://127.0.0.1:9", BODY, seconds=5)
