"""A data home of release 0.5.0 is upgraded in place, and everything in it is there: on SQLite and on PostgreSQL.

The archives in `fixtures/` were made by that release (`make_fixture.py`). The tests use servers and commands only, so
that they go on saying the same whatever the code is called inside.
"""

from __future__ import annotations

import base64
import json
import re
import tarfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.concurrency.databases import new_database
from tests.instances import Instance
from tests.sign_in_codes import code_for
from tests.web_visitor import WebVisitor

FIXTURES = Path(__file__).parent / "fixtures"
KINDS = [
    pytest.param("sqlite", marks=pytest.mark.xdist_group("upgrade-sqlite")),
    pytest.param(
        "postgresql", marks=[pytest.mark.postgres, pytest.mark.proof, pytest.mark.xdist_group("upgrade-postgresql")]
    ),
]


class Upgraded:
    """The instance after its first start with the code of today, and what 0.5.0 had put into it."""

    def __init__(self, instance: Instance, facts: dict[str, Any], started_at: str) -> None:
        self.instance, self.facts = instance, facts
        self.started_at = started_at

    def call(self, method: str, path: str, body: Any = None, *, agent: str = "alice") -> Any:
        answer = self.instance.call(method, path, body, token=self.facts["tokens"][agent])
        assert answer.status == 200, (answer.status, answer.body)
        return answer.json()

    def jobs(self) -> dict[str, dict[str, Any]]:
        """The newest rows by their ids."""
        return {job["id"]: job for job in self.command("flux_jobs", "list", "--limit", "1000")["jobs"]}

    def visitor(self) -> WebVisitor:
        """The administrator, signed in with a backup code of before; each works once."""
        visitor = WebVisitor(self.instance)
        password = self.facts["password"]
        assert visitor.post("/sign-in", username=self.facts["username"], password=password).status == 302
        assert visitor.post("/sign-in/code", code=self.facts["backup_codes"].pop()).status == 302
        return visitor

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
    started_at = datetime.now(UTC).isoformat()
    instance.start()
    yield Upgraded(instance, json.loads((home / "main" / "facts.json").read_text()), started_at)
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
    hidden = upgraded.command("flux_grain", "show", upgraded.facts["quarantined"]["id"])["conduits"]
    assert len(graph["links"]) + len(hidden["in"] + hidden["out"]) >= upgraded.facts["counts"]["conduits"]


def test_votes_are_listed_explained_and_can_be_taken_back(upgraded: Upgraded) -> None:
    facts = upgraded.facts
    assert len(upgraded.command("flux_learning", "list")["votes"]) == facts["counts"]["votes"]
    explained = upgraded.command("flux_learning", "explain", "--trace", facts["trace"], "--grain", facts["answer"])
    assert (explained["grain_id"], explained["query"]) == (facts["answer"], facts["question"])
    assert (explained["caller"], explained["useful"], explained["applied"]) == ("agent:alice", True, True)
    assert explained["undone_at"] is None
    assert [link["weight"] > link["weight_without_votes"] for link in explained["links"]] == [True], "what it taught"
    undone = upgraded.call("DELETE", f"/feedback/{facts['trace']}/{facts['answer']}")
    assert undone["changed"] is True
    votes = {(vote["trace_id"], vote["grain_id"]): vote for vote in upgraded.command("flux_learning", "list")["votes"]}
    assert votes[facts["trace"], facts["answer"]]["undone_by"] == "agent:alice"


def test_what_waited_under_its_former_name_was_done_once(upgraded: Upgraded) -> None:
    """These had not run when 0.5.0 was stopped: most kinds have another name today."""
    waiting = upgraded.facts["waiting"]
    assert "grains.imply" in waiting.values() and len(waiting) > 5
    until = time.monotonic() + 120
    while any((found := upgraded.jobs())[job]["state"] in ("queued", "running") for job in waiting):
        assert time.monotonic() < until, found
        time.sleep(0.2)
    for job, kind in waiting.items():
        row = found[job]
        assert (row["kind"], row["state"], row["attempts"], row["error"]) == (kind, "done", 1, "")
        assert row["finished_at"] > upgraded.started_at


def test_recurring_jobs_go_on_counting_where_they_were(upgraded: Upgraded) -> None:
    """Their rows were taken over under new names: asked for once before, and since only when their time had come."""
    rows = upgraded.command("flux_jobs", "schedule")["schedule"]
    went_on = [row for row in rows if row["count"] > 1 or (row["asked_at"] or "~") < upgraded.started_at]
    assert len(went_on) == len(upgraded.facts["schedule"])


def test_a_grain_in_quarantine_a_core_one_and_a_purged_one_are_so_still(upgraded: Upgraded) -> None:
    hidden, core, purged = (upgraded.facts[name] for name in ("quarantined", "core", "purged"))
    found = upgraded.command("flux_grain", "show", hidden["id"])
    assert (found["content"], found["status"]) == (hidden["text"], "quarantined")
    assert [(one["from"], one["to"]) for one in found["transitions"]] == [("active", "quarantined")]
    found = upgraded.command("flux_grain", "show", core["id"])
    assert (found["content"], found["decay_class"]) == (core["text"], "core")
    recalled = upgraded.call("POST", "/retrieve", {"query": hidden["text"]})["grains"]
    assert hidden["id"] not in [grain["id"] for grain in recalled]
    answer = upgraded.instance.call("GET", f"/grains/{purged['id']}", token=upgraded.facts["tokens"]["alice"])
    assert answer.status == 404
    assert purged["id"] in upgraded.visitor().get("/admin/grains/tombstone/").text, "what was left of it"


def test_an_import_is_listed_and_what_it_brought_is_found(upgraded: Upgraded) -> None:
    asked = upgraded.facts["import"]
    recalled = upgraded.call("POST", "/retrieve", {"query": "How many eggs do pancakes need?"})["grains"]
    assert asked["text"] in recalled[0]["content"]
    page = upgraded.visitor().get(f"/import/{asked['id']}")
    assert page.status == 200 and "recipes.md" in page.text


def test_a_request_that_nobody_had_answered_can_be_accepted(upgraded: Upgraded) -> None:
    wanted = upgraded.facts["request"]
    assert upgraded.call("GET", "/me")["grants"] == []
    [request] = upgraded.call("GET", "/grant-requests")["requests"]
    assert (request["id"], request["capability"], request["state"]) == (wanted, "health.read", "waiting")
    upgraded.command("flux_grant", "accept", wanted)
    assert "health.read" in upgraded.call("GET", "/me")["capabilities"]


def test_a_warning_is_open_and_can_be_acknowledged(upgraded: Upgraded) -> None:
    given = upgraded.facts["warning"]
    report = json.loads(upgraded.instance.command("flux_health", "--json", check=False).stdout)["spaces"]["main"]
    assert report["computed_at"]
    [warning] = report["active_warnings"]
    assert (warning["signal"], warning["value"], warning["range"]) == (given["signal"], 0.5, [None, 0.15])
    assert warning["acknowledged_by"] is None
    words = ("flux_health", "--space", "main", "--acknowledge", given["signal"], "--json")
    upgraded.instance.command(*words, check=False)
    report = json.loads(upgraded.instance.command("flux_health", "--json", check=False).stdout)["spaces"]["main"]
    assert report["active_warnings"][0]["acknowledged_by"]


def test_keys_keep_their_versions_and_their_history(upgraded: Upgraded) -> None:
    key, deleted = upgraded.facts["key"], upgraded.facts["deleted"]
    read = upgraded.call("GET", f"/agents/alice/kv/{key['name']}")
    assert (read["value"], read["version"]) == (key["value"], key["version"])
    history = upgraded.call("GET", f"/agents/alice/history/{key['name']}")["versions"]
    assert [one["version"] for one in history] == [3, 2, 1]
    assert upgraded.call("GET", f"/agents/alice/history/{key['name']}?version=1")["value"] == "draft"
    short = upgraded.call("GET", "/agents/alice/kv/short")
    assert (short["value"], short["version"]) == (1, 1)
    lives = datetime.fromisoformat(short["expires_at"]) - datetime.fromisoformat(short["written_at"])
    assert round(lives.total_seconds()) == upgraded.facts["short_lives"]
    written = upgraded.call("PUT", f"/agents/alice/kv/{deleted['name']}", {"value": "again"})
    assert written["version"] > deleted["version"], "a version never repeats"


def test_boards_locks_and_tasks_go_on(upgraded: Upgraded) -> None:
    board, lock = upgraded.facts["board"], upgraded.facts["lock"]
    path = f"/boards/{board['name']}/kv/{board['key']}"
    assert upgraded.call("GET", path, agent="bob")["value"] == board["value"]
    claimed = upgraded.call("POST", "/queues/claim", {"queue": "mail", "board": board["name"]})
    assert claimed["task"] == upgraded.facts["tasks"][0]
    # Held until its time was over, long ago: whoever takes it afterwards gets the next number.
    taken = upgraded.call("POST", "/locks", {"lock": lock["name"], "board": board["name"]})
    assert taken["token"] == lock["token"] + 1


def test_tokens_and_grants_hold_and_a_revoked_token_does_not(upgraded: Upgraded) -> None:
    facts = upgraded.facts
    me = upgraded.call("GET", "/me", agent="bob")
    assert [grant["capability"] for grant in me["grants"]] == [facts["granted"]["capability"]]
    assert upgraded.instance.call("GET", "/me", token=facts["revoked"]).status == 401


def test_the_person_signs_in_with_password_and_second_factor(upgraded: Upgraded) -> None:
    facts, visitor = upgraded.facts, WebVisitor(upgraded.instance)
    assert visitor.post("/sign-in", username=facts["username"], password=facts["password"]).status == 302
    assert visitor.post("/sign-in/code", code=code_for(bytes.fromhex(facts["totp_key"]))).status == 302
    assert visitor.get("/account").status == 200
    again, spent = WebVisitor(upgraded.instance), upgraded.facts["backup_codes"][-1]
    upgraded.visitor()
    assert again.post("/sign-in", username=facts["username"], password=facts["password"]).status == 302
    assert again.post("/sign-in/code", code=spent).status != 302
    people = {person["username"]: person for person in upgraded.command("flux_admin", "list")["people"]}
    assert set(people) == {facts["username"], "grace"}
    ada, grace = people[facts["username"]], people["grace"]
    assert (ada["roles"], ada["second_factor"], ada["active"]) == (["administrator"], True, True)
    assert (grace["roles"], grace["second_factor"], grace["active"]) == (["viewer of main"], False, True)


def shown_key(page: str) -> bytes:
    """As a person without a camera would read it."""
    found = re.search(r'<p class="key"><code>(.*?)</code>', page, re.DOTALL)
    assert found, page
    return base64.b32decode("".join(re.findall(r"<span>(\w{4})</span>", found.group(1))))


def test_who_was_invited_and_had_not_come_enrols_with_a_new_link(upgraded: Upgraded) -> None:
    link = upgraded.command("flux_admin", "reset", "grace", "--password")["link"]
    visitor, path = WebVisitor(upgraded.instance), urlsplit(link).path
    key = shown_key(visitor.get(path).text)
    password = "a short walk to the lighthouse"
    form = {"username": "grace", "password": password, "password_again": password, "code": code_for(key)}
    assert visitor.post(path, **form).status in (200, 302)
    assert visitor.get("/account").status == 200
    people = {person["username"]: person for person in upgraded.command("flux_admin", "list")["people"]}
    assert people["grace"]["second_factor"] is True and people["grace"]["roles"] == ["viewer of main"]


def test_the_audit_of_before_and_since_is_one_chain_with_its_checkpoints(upgraded: Upgraded) -> None:
    verified = upgraded.command("flux_audit", "verify")
    assert verified["sound"] is True
    assert all(chain["checkpoint"] for chain in verified["chains"])
    exported = upgraded.instance.command("flux_audit", "export").stdout
    assert "people.create_administrator" in exported
