"""Four local agents' processes and the server write at once: nothing is lost and nobody hears of a lock."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.instances import Instance
from tests.mcp.test_process import Raw

pytestmark = pytest.mark.torture

PROCESSES, EACH, BATCH = 4, 150, 10


def test_nothing_is_lost_and_no_lock_is_heard_of(made: Any) -> None:
    one: Instance = made()
    (one.folder / "config.yaml").write_text("OPERATING_MODE: caller_extracts\nMAX_GRAINS_PER_MINUTE: 1000000\n")
    one.start()
    kept: list[str] = []
    failures: list[str] = []
    lock = threading.Lock()

    def note(answer: dict[str, Any], error: str | None = None) -> None:
        with lock:
            if error:
                failures.append(error)
            else:
                kept.extend(result["grain_id"] for result in answer.get("results", [answer]))

    def local(which: int) -> None:
        # Half of them hand over to the server; those whose storage differs from its own write by themselves.
        process = Raw(one, **({"FLUX_DURABILITY": "normal"} if which % 2 else {}))
        for number in range(EACH):
            text = f"Process {which} says number {number}."
            if number % 3 == 2:
                given: dict[str, Any] = {"items": [{"content": f"{text} Part {part}."} for part in range(BATCH)]}
            else:
                given = {"content": text}
            answer = process.call("flux_store", **given)
            note(answer.get("structuredContent", {}), answer["content"][0]["text"] if answer.get("isError") else None)
            if number % 10 == 0:
                asked = process.call("flux_retrieve", query=text)
                if asked.get("isError"):
                    note({}, asked["content"][0]["text"])
        process.end()

    def over_rest() -> None:
        line = one.connection()
        for number in range(EACH * 2):
            answer = one.call("POST", "/store", {"content": f"The server says number {number}."}, line=line)
            note(answer.json(), None if answer.status == 200 else answer.body.decode())

    writers = [threading.Thread(target=local, args=(which,)) for which in range(PROCESSES)]
    writers.append(threading.Thread(target=over_rest))
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(300)
    assert failures == []
    expected = PROCESSES * (EACH // 3 * 2 + EACH // 3 * BATCH) + EACH * 2
    assert len(set(kept)) == len(kept) == expected
    found, cursor = set(), ""
    while True:
        page = one.call("GET", f"/grains?limit=200{cursor}").json()
        found |= {grain["id"] for grain in page["grains"]}
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert found == set(kept)
    assert json.loads(one.command("flux_audit", "verify", "--json").stdout)["chains"]  # or it would have ended badly
    log = (one.folder / "flux.log").read_text()
    assert "locked" not in log.lower() and "refused a write" not in log
