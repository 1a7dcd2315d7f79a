"""A data home of release 0.5.0 is upgraded in place, and everything in it is there: on SQLite and on PostgreSQL.

The archives in `fixtures/` were made by that release (`make_fixture.py`). The tests use servers and commands only, so
that they go on saying the same whatever the code is called inside.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.concurrency.databases import new_database
from tests.instances import Instance
from tests.sign_in_codes import code_for
from tests.web_visitor import WebVisitor

FIXTURES = Path(__file__).parent / "fixtures"
KINDS = [
    pytest.param("sqlite", marks=pytest.mark.xdist_group("upgrade-sqlite")),
    pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.xdist_group("upgrade-postgresql")]),
]


class Upgraded:
    """The instance after its first start with the code of today, and what 0.5.0 had put into it."""

    def __init__(self, instance: Instance, facts: dict[str, Any]) -> None:
        self.instance, self.facts = instance, facts

    def call(self, method: str, path: str, body: Any = None, *, agent: str = "alice") -> Any:
        answer = self.instance.call(method, path, body, token=self.facts["tokens"][agent])
        assert answer.status == 200, (answer.status, answer.body)
        return answer.json()

    def command(self, *words: str) -> Any:
        return json.loads(self.instance.command(*words, "--json").stdout)


@pytest.fixture(scope="module", params=KINDS)
def upgraded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    home = tmp_path_factory.mktemp("upgrade")
    (home / "main").mkdir(mode=0o700)
    with tarfile.open(FIXTURES / f"{request.param}.tar.xz") as archive:
        archive.extractall(home / "main", filter="data")
    environment = {}
    dump = home / "main" / "database.sql"
    if dump.exists():
        environment["DATABASE_URL"] = new_database(request.getfixturevalue("postgres_url"))
        with psycopg.connect(environment["DATABASE_URL"], autocommit=True) as line:
            line.execute(dump.read_bytes())
        dump.unlink()
    instance = Instance(home, "main", **environment)
    instance.start()
    yield Upgraded(instance, json.loads((home / "main" / "facts.json").read_text()))
    instance.stop()


def test_the_upgrade_made_a_backup_and_names_keys_that_change_nothing(upgraded: Upgraded) -> None:
    assert len(list((upgraded.instance.folder / "backups").glob("*before-upgrade*.tar.zst"))) == 1
    status = upgraded.command("flux_status")
    assert status["counts"]["grains"] == upgraded.facts["counts"]["grains"]
    said = " ".join(status["warnings"])
    assert "VECTOR_FALLBACK_K has no effect" in said and "DREAM_MAX_CLUSTER is not used yet" in said
    assert "migration" not in said


def test_every_grain_reads_as_it_was(upgraded: Upgraded) -> None:
    for text, grain in upgraded.facts["grains"].items():
        assert upgraded.call("GET", f"/grains/{grain}")["content"] == text


def test_recall_finds_them_and_has_not_forgotten_what_it_learned(upgraded: Upgraded) -> None:
    facts = upgraded.facts
    assert upgraded.call("POST", "/retrieve", {"query": facts["question"]})["grains"][0]["id"] == facts["answer"]
    learned = upgraded.call("POST", "/retrieve", {"query": facts["learned"]["question"]})
    assert learned["grains"][0]["id"] == facts["learned"]["grain"]


def test_a_trace_of_before_still_explains_itself(upgraded: Upgraded) -> None:
    trace = upgraded.call("GET", f"/traces/{upgraded.facts['trace']}")
    assert trace["query"] == upgraded.facts["question"]
    assert trace["grains"][0]["grain_id"] == upgraded.facts["answer"]


def test_links_and_clusters_are_there(upgraded: Upgraded) -> None:
    listed = upgraded.command("flux_clusters", "list", "--space", "main")
    assert listed["clusters"]
    graph = json.loads(upgraded.instance.command("flux_export", "--space", "main", "--format", "json", "-").stdout)
    assert len(graph["links"]) >= upgraded.facts["counts"]["conduits"]


def test_votes_are_listed_explained_and_can_be_taken_back(upgraded: Upgraded) -> None:
    facts = upgraded.facts
    assert len(upgraded.command("flux_learning", "list")["votes"]) == facts["counts"]["votes"]
    explained = upgraded.command("flux_learning", "explain", "--trace", facts["trace"], "--grain", facts["answer"])
    assert json.dumps(explained).count(facts["answer"]) >= 1
    undone = upgraded.call("DELETE", f"/feedback/{facts['trace']}/{facts['answer']}")
    assert undone["changed"] is True


def test_keys_keep_their_versions_and_their_history(upgraded: Upgraded) -> None:
    key, deleted = upgraded.facts["key"], upgraded.facts["deleted"]
    read = upgraded.call("GET", f"/agents/alice/kv/{key['name']}")
    assert (read["value"], read["version"]) == (key["value"], key["version"])
    history = upgraded.call("GET", f"/agents/alice/history/{key['name']}")["versions"]
    assert [one["version"] for one in history] == [3, 2, 1]
    assert upgraded.call("GET", f"/agents/alice/history/{key['name']}?version=1")["value"] == "draft"
    written = upgraded.call("PUT", f"/agents/alice/kv/{deleted['name']}", {"value": "again"})
    assert written["version"] > deleted["version"], "a version never repeats"


def test_boards_locks_and_tasks_go_on(upgraded: Upgraded) -> None:
    board, lock = upgraded.facts["board"], upgraded.facts["lock"]
    path = f"/boards/{board['name']}/kv/{board['key']}"
    assert upgraded.call("GET", path, agent="bob")["value"] == board["value"]
    claimed = upgraded.call("POST", "/queues/claim", {"queue": "mail", "board": board["name"]})
    assert claimed["task"] == upgraded.facts["tasks"][0]
    # Held until its time was over: whoever takes it afterwards gets a higher number.
    answer = upgraded.instance.call(
        "POST", "/locks", {"lock": lock["name"], "board": board["name"]}, token=upgraded.facts["tokens"]["alice"]
    )
    assert answer.status == 409 or answer.json()["token"] > lock["token"]


def test_tokens_and_grants_hold_and_a_revoked_token_does_not(upgraded: Upgraded) -> None:
    facts = upgraded.facts
    assert facts["granted"]["capability"] in json.dumps(upgraded.call("GET", "/me", agent="bob"))
    assert upgraded.instance.call("GET", "/me", token=facts["revoked"]).status == 401


def test_the_person_signs_in_with_password_and_second_factor(upgraded: Upgraded) -> None:
    facts, visitor = upgraded.facts, WebVisitor(upgraded.instance)
    assert visitor.post("/sign-in", username=facts["username"], password=facts["password"]).status == 302
    assert visitor.post("/sign-in/code", code=code_for(bytes.fromhex(facts["totp_key"]))).status == 302
    assert visitor.get("/account").status == 200
    assert "grace" in visitor.get("/admin/accounts/user/").text


def test_the_audit_of_before_and_since_is_one_chain_with_its_checkpoints(upgraded: Upgraded) -> None:
    verified = upgraded.command("flux_audit", "verify")
    assert verified["sound"] is True
    assert all(chain["checkpoint"] for chain in verified["chains"])
    exported = upgraded.instance.command("flux_audit", "export").stdout
    assert "people.create_administrator" in exported
