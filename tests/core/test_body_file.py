"""Body files: slow senders are refused, and nothing of a refused body is kept."""

from __future__ import annotations

import asyncio
import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from fluxcore import incoming_bodies
from fluxcore.body_file import spool_incoming
from fluxcore.errors import BodyTooSlow, TooLarge


@pytest.fixture
def disk():
    with ThreadPoolExecutor(1) as pool:
        yield pool


async def sent(*chunks, pause=0.0):
    """What a caller sends; None stands for a stall without end."""
    for chunk in chunks:
        if chunk is None:
            await asyncio.Event().wait()
        await asyncio.sleep(pause)
        yield chunk


def keep(chunks, folder, disk, most=10**9):
    return asyncio.run(spool_incoming(chunks, folder, most, disk))


def test_a_body_is_kept_to_the_byte_with_its_digest(tmp_path, disk):
    parts = [bytes([number]) * 100_000 for number in range(12)]
    body = keep(sent(b"", *parts), tmp_path, disk)
    assert (body.size, body.sha256) == (1_200_000, hashlib.sha256(b"".join(parts)).hexdigest())
    assert b"".join(body) == b"".join(parts)
    body.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_sender_that_stalls_is_refused_however_much_it_has_sent(tmp_path, disk, configure):
    configure(REQUEST_SECONDS=0.2)
    for before in ([], [b"x" * 10_000_000]):
        with pytest.raises(BodyTooSlow):
            keep(sent(*before, None), tmp_path, disk)
    assert list(tmp_path.iterdir()) == []


def test_a_sender_of_small_pieces_is_refused_at_the_deadline(tmp_path, disk, configure):
    configure(REQUEST_SECONDS=0.5)
    with pytest.raises(BodyTooSlow):
        keep(sent(*[b"x"] * 1000, pause=0.01), tmp_path, disk)
    assert list(tmp_path.iterdir()) == []


def test_the_deadline_grows_with_the_bytes_received(tmp_path, disk, configure, monkeypatch):
    """Twenty pauses are longer than the first deadline; each byte that comes brings a second."""
    configure(REQUEST_SECONDS=1)
    monkeypatch.setattr(incoming_bodies, "BYTES_PER_SECOND", 1)
    assert keep(sent(*[b"x" * 100] * 20, pause=0.06), tmp_path, disk).size == 2000


def test_a_body_over_the_maximum_is_refused_as_soon_as_it_exceeds_it(tmp_path, disk):
    with pytest.raises(TooLarge):
        keep(sent(b"x" * 60, b"x" * 60, None), tmp_path, disk, most=100)
    assert list(tmp_path.iterdir()) == []
