"""Logs: one line per record, optional JSON, no tokens or error texts, readable only by the owner, lossless rotation."""

from __future__ import annotations

import json
import logging
import os
import stat
import subprocess
import sys
import time

import pytest

from accounts import tokens
from fluxsite import logs
from fluxsite.logs import JSONFormatter, LineFormatter, request_id


def record(message, *args, error=None):
    exc_info = None
    if error is not None:
        try:
            raise error
        except type(error):
            exc_info = sys.exc_info()
    return logging.LogRecord("memory.test", logging.INFO, "x.py", 1, message, args, exc_info)


def test_a_line_says_when_what_where_and_for_which_request():
    mark = request_id.set("req-1")
    try:
        line = LineFormatter().format(record("hello %s", "you"))
    finally:
        request_id.reset(mark)
    moment, rest = line.split(" ", 1)
    assert moment.endswith("Z")
    assert "T" in moment
    assert rest == "INFO memory.test [req-1] hello you"


def test_json_says_the_same():
    line = json.loads(JSONFormatter().format(record("hello %s", "you")))
    assert {**line, "at": None} == {
        "at": None,
        "level": "INFO",
        "logger": "memory.test",
        "request_id": "-",
        "message": "hello you",
    }


@pytest.mark.parametrize("formatter", [LineFormatter(), JSONFormatter()])
@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "a\x1b[31mb", "a\0b", "a\x85b", "a\u2028b", "a\x7fb", "a\ud800b"])
def test_control_characters_cannot_forge_a_line(formatter, text):
    line = formatter.format(record("got %s", text))
    assert len(line.splitlines()) == 1
    assert line.isprintable()
    line.encode("utf-8")


@pytest.mark.parametrize("formatter", [LineFormatter(), JSONFormatter()])
def test_a_token_is_masked_wherever_it_stands(formatter):
    token = tokens.generate()[1]
    secret = token.split("_", 2)[2]
    for line in (
        formatter.format(record("Authorization: Bearer %s", token)),
        formatter.format(record(f"x{token}y")),
        formatter.format(record("%s", {"token": token})),
        formatter.format(record("failed", error=ValueError(token))),
    ):
        assert secret not in line
    assert "flux_***" in formatter.format(record(token))


@pytest.mark.parametrize("formatter", [LineFormatter(), JSONFormatter()])
def test_an_error_is_named_with_its_place_and_without_its_text(formatter):
    line = formatter.format(record("it failed", error=ValueError("the cat is on the mat")))
    assert "ValueError" in line
    assert "test_logs.py" in line
    assert "cat" not in line
    assert len(line.splitlines()) == 1


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_file_is_the_owners_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        handler = logs.PrivateFileHandler(str(tmp_path / "flux.log"), encoding="utf-8", delay=True)
        handler.setFormatter(LineFormatter())
        handler.handle(record("one"))
        handler.close()
    finally:
        os.umask(before)
    assert mode(tmp_path / "flux.log") == 0o600


def test_the_configuration_is_one_logging_takes(tmp_path):
    script = f"""
import logging, logging.config
from pathlib import Path
from fluxsite import logs
logging.config.dictConfig(logs.configuration(file=Path({str(tmp_path / "x.log")!r}), as_json=True, level="INFO"))
logging.getLogger("any").info("to the file")
logging.getLogger("any").debug("nowhere")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    lines = (tmp_path / "x.log").read_text().splitlines()
    assert [json.loads(line)["message"] for line in lines] == ["to the file"]
    assert list(logs.configuration(file=None, as_json=False, level="INFO")["handlers"]) == ["stderr"]


def test_a_small_log_stays_and_a_grown_one_moves_aside(tmp_path):
    file = tmp_path / "flux.log"
    assert logs.rotate(file) is False
    file.write_text("x" * 99)
    assert logs.rotate(file, max_bytes=100) is False
    for number in range(4):
        file.write_text(f"{number}" * 100)
        assert logs.rotate(file, max_bytes=100, keep=2) is True
    assert sorted(path.name for path in tmp_path.iterdir()) == ["flux.log.1", "flux.log.2"]
    assert (tmp_path / "flux.log.1").read_text()[0] == "3"


WRITER = """
import logging, sys
from fluxsite.logs import LineFormatter, PrivateFileHandler
handler = PrivateFileHandler(sys.argv[1], encoding="utf-8", delay=True)
handler.setFormatter(LineFormatter())
log = logging.getLogger("writer"); log.addHandler(handler); log.setLevel("INFO")
for number in range(2000):
    log.info("line %s.%d", sys.argv[2], number)
"""


def test_rotation_loses_no_line_of_several_writing_processes(tmp_path):
    file = tmp_path / "flux.log"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(file), str(number)]) for number in range(3)]
    rotations = 0
    while any(writer.poll() is None for writer in writers):
        rotations += logs.rotate(file, max_bytes=20_000, keep=60)
        time.sleep(0.001)
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    found = [line.rsplit(" ", 1)[1] for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    assert rotations >= 2
    assert sorted(found) == sorted(f"{writer}.{number}" for writer in range(3) for number in range(2000))


def test_the_minute_rotates_the_instances_log():
    from fluxcore.work.sweep import _housekeeping

    assert "rotate_log" in [one.__name__ for one in _housekeeping if not isinstance(one, str)]
