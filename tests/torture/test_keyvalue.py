"""Exact memory under load and kills, over two processes: linearizable, one winner, one holder, nothing missed."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections import Counter, defaultdict

import pytest

from tests.concurrency.databases import new_database
from tests.concurrency.load import together
from tests.instances import Instance
from tests.keyvalue.linearizable import Call, linearizable

pytestmark = pytest.mark.torture

CLIENTS, KEYS, ROUNDS = 8, 10, 1_000
_AGENT = """
import json
from accounts import agents, tokens
from accounts.principals import shell
from fluxsite.setup import FIRST_SPACE
made = {}
for name in ("keeper", "other"):
    agents.create_agent(shell(), space=FIRST_SPACE, name=name,
                        capabilities=["memory.read", "memory.write", "memory.read@*", "bb.read", "bb.write"])
    made[name] = tokens.mint(shell(), space=FIRST_SPACE, agent=name)["token"]
print(json.dumps(made))
"""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def served(request, tmp_path):
    environment = {}
    if request.param == "postgres":
        environment["DATABASE_URL"] = new_database(request.getfixturevalue("postgres_url"))
    one = Instance(tmp_path, "exact", **environment)
    one.folder.mkdir(parents=True, mode=0o700)
    (one.folder / "config.yaml").write_text("MAX_KV_WRITES_PER_MINUTE: 10000000\n")
    one.start("--processes", "2")
    one.tokens = json.loads(one.command("shell", "-v", "0", "-c", _AGENT).stdout.strip().splitlines()[-1])
    yield one
    one.kill()


class Client:
    """Calls keys and writes down when it asked, when it was answered, and what."""

    def __init__(self, instance: Instance, number: int) -> None:
        self.instance, self.chance = instance, random.Random(number)
        self.line = instance.connection(timeout=30)
        self.seen = dict.fromkeys(range(KEYS), 0)
        self.calls: dict[int, list[Call]] = defaultdict(list)
        self.number, self.broken = number, 0

    def run(self) -> None:
        for turn in range(ROUNDS):
            self.cas(turn)
            if self.chance.random() < 0.8:
                self.read(self.chance.randrange(KEYS))
            if self.chance.random() < 0.05:
                self.delete(self.chance.randrange(KEYS))

    def ask(self, method: str, key: int, body=None):
        begin = time.monotonic()
        try:
            answer = self.instance.call(
                method, f"/agents/keeper/kv/k{key}", body, token=self.instance.tokens["keeper"], line=self.line
            )
        except ConnectionRefusedError:
            self._again()
            return self.ask(method, key, body)  # nobody listened: it never happened
        except (OSError, http.client.HTTPException):
            self.broken += 1
            self._again()
            return begin, time.monotonic(), None
        assert answer.status < 500 or answer.status == 503, answer.body
        return begin, time.monotonic(), None if answer.status == 503 else answer

    def _again(self) -> None:
        self.line.close()
        time.sleep(0.05)
        self.line = self.instance.connection(timeout=30)

    def cas(self, turn: int) -> None:
        key = self.chance.randrange(KEYS)
        # Half with what it last saw, half with an older one.
        expected = self.seen[key] if self.chance.random() < 0.5 else max(0, self.seen[key] - 1)
        value = f"{self.number}/{turn}"
        begin, end, answer = self.ask("PUT", key, {"value": value, "expected_version": expected})
        said = None
        if answer is not None and answer.status == 200:
            said = ("written", answer.json()["version"], None)
        elif answer is not None:
            assert answer.status == 409, answer.body
            said = ("conflict", answer.json()["details"]["current_version"], None)
        if said:
            self.seen[key] = said[1]
        self.calls[key].append(Call(begin, end, "cas", expected, value, said))

    def read(self, key: int) -> None:
        begin, end, answer = self.ask("GET", key)
        if answer is None:
            return  # it changed nothing, whatever it would have said
        found = answer.json()
        said = ("read", found["version"], found["value"]) if answer.status == 200 else ("read", 0, None)
        self.seen[key] = said[1]
        self.calls[key].append(Call(begin, end, "read", answer=said))

    def delete(self, key: int) -> None:
        begin, end, answer = self.ask("DELETE", key)
        said = None
        if answer is not None:
            said = ("deleted" if answer.json()["deleted"] else "nothing", answer.json()["version"], None)
            self.seen[key] = 0
        self.calls[key].append(Call(begin, end, "delete", answer=said))


def test_every_history_is_linearizable_through_a_kill(served):
    clients = [Client(served, number) for number in range(CLIENTS)]
    crowd = [threading.Thread(target=one.run) for one in clients]
    for one in crowd:
        one.start()
    while sum(len(calls) for one in clients for calls in one.calls.values()) < CLIENTS * ROUNDS // 2:
        time.sleep(0.05)
    served.kill()
    served.start("--processes", "2")
    for one in crowd:
        one.join()
    total, unknown, outcomes = 0, 0, Counter()
    for key in range(KEYS):
        history = [call for one in clients for call in one.calls[key]]
        versions = [call.answer[1] for call in history if call.answer and call.answer[0] == "written"]
        assert len(versions) == len(set(versions)), "a version was given twice"
        assert linearizable(history), f"key {key}: no order explains its {len(history)} calls"
        total, unknown = total + len(history), unknown + sum(call.answer is None for call in history)
        outcomes.update(call.answer[0] for call in history if call.answer)
    print(
        f"{total} calls on {KEYS} keys by {CLIENTS} clients over 2 processes, one kill: {unknown} without an answer, "
        f"{dict(outcomes)}; every key linearizable, every version once"
    )
    assert sum(one.broken for one in clients) > 0, "the kill hit nobody"
    assert json.loads(served.command("flux_audit", "verify", "--json").stdout)["sound"]


def test_three_hundred_duels_of_sixteen(served):
    lines = [served.connection() for _ in range(16)]
    token = served.tokens["keeper"]
    for version in range(300):
        statuses: list[int] = []

        def duel(number: int, version: int = version, statuses: list[int] = statuses) -> None:
            body = {"value": number, "expected_version": version}
            answer = served.call("PUT", "/agents/keeper/kv/duel", body, token=token, line=lines[number])
            statuses.append(answer.status)

        together(16, duel)
        assert Counter(statuses) == {200: 1, 409: 15}, (version, statuses)
    found = served.call("GET", "/agents/keeper/kv/duel", token=token).json()
    assert found["version"] == 300
    print("300 duels of 16: one winner each")


def test_a_killed_holder_is_followed_by_one_and_refused_when_it_comes_back(served):
    token, other = served.tokens["keeper"], served.tokens["other"]
    first = served.call("POST", "/locks", {"lock": "l", "ttl_secs": 3}, token=token).json()
    served.kill()  # and its holder with it
    served.start("--processes", "2")
    got: list[int] = []

    def wait(number: int) -> None:
        line, until = served.connection(), time.monotonic() + 20
        while time.monotonic() < until and not got:
            answer = served.call("POST", "/locks", {"lock": "l", "ttl_secs": 60}, token=other, line=line)
            if answer.status == 200:
                got.append(answer.json()["token"])
            time.sleep(0.02)

    together(8, wait)
    assert got == [first["token"] + 1], "one takes it over"
    fence = {"lock": "l", "token": first["token"]}
    late = served.call("PUT", "/boards/main/kv/out", {"value": "late", "fence": fence}, token=token)
    assert (late.status, late.json()["code"]) == (409, "fenced")
    for path in ("/locks/renew", "/locks/release"):
        assert served.call("POST", path, {"lock": "l", "token": first["token"]}, token=token).status == 409
    held = {"lock": "l", "token": got[0]}
    assert served.call("PUT", "/boards/main/kv/out", {"value": 1, "fence": held}, token=other).status == 200
    print(f"taken over once with token {got[0]}; the late holder's {first['token']} was refused three times")


def test_a_watch_over_three_reconnects_misses_nothing(served):
    token, written = served.tokens["keeper"], []
    position = served.call("GET", "/watch?place=boards/main&wait=0", token=token).json()["position"]
    over = threading.Event()

    def write() -> None:
        line = served.connection()
        for number in range(400):
            written.append(
                served.call("PUT", f"/boards/main/kv/k{number % 7}", {"value": number}, token=token, line=line).json()
            )
        over.set()

    writer = threading.Thread(target=write)
    writer.start()
    heard: list[tuple[str, int]] = []
    reconnects = 0
    while len(heard) < 400:
        line = served.connection(timeout=20)
        headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream", "Last-Event-ID": position}
        line.request("GET", "/watch?place=boards/main", headers=headers)
        stream = line.getresponse()
        enough = len(heard) + (130 if reconnects < 3 else 400)
        while len(heard) < min(enough, 400):
            said = stream.readline().decode()
            if said.startswith("id: "):
                position = said[4:].strip()
            if said.startswith("data: "):
                change = json.loads(said[6:])
                if change["kind"] == "kv.set":
                    heard.append((change["key"], change["version"]))
        line.close()
        reconnects += 1
    writer.join()
    assert reconnects >= 4 and over.is_set()
    assert heard == [(one["key"], one["version"]) for one in written]
    print(f"{len(heard)} changes over {reconnects - 1} reconnects: each once, in order")
