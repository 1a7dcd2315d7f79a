"""flux_start: the doors open together"""

from __future__ import annotations

import fcntl
import http.client
import json
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from fluxsite.home import DataHome, make_home
from tests.concurrency.databases import connect
from tests.instances import ROOT, Instance
from tests.servers import missing

# Two instances serve those tests of this file that need a running one.
pytestmark = pytest.mark.xdist_group("flux-start")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    one = Instance(tmp_path_factory.mktemp("start"), "one").start()
    yield one
    one.stop()


def test_it_prints_where_to_click_and_what_to_try(running):
    printed = running.output.read_text()
    for door in ("rest", "people", "mcp"):
        assert running.state["urls"][door] in printed
    assert "/enrol/" in printed
    assert running.token in printed
    assert "curl " in printed


def test_the_printed_token_works_through_the_door(running):
    stored = running.call("POST", "/store", {"content": "hello", "provenance": "user_stated"})
    assert stored.status == 200, stored.body
    assert running.call("GET", f"/grains/{stored.json()['grain_id']}").json()["content"] == "hello"


def test_a_door_answers_404_to_the_paths_of_another(running):
    assert running.call("GET", "/admin/").status == 404
    assert running.call("GET", "/grains", door="people").status == 404
    assert running.call("GET", "/api/v1/grains", door="people").status == 404
    assert running.call("GET", "/admin/", door="mcp").status == 404
    assert running.call("GET", "/grains", door="mcp").json()["code"] == "not_found"


@pytest.mark.parametrize("door", ["rest", "people", "mcp"])
def test_a_door_knows_its_names_and_its_own_pages_only(running, door):
    port = running.state["ports"][door]
    assert running.call("GET", "/health", door=door, headers={"Host": "evil.example"}).status == 400
    assert running.call("GET", "/health", door=door, headers={"Host": f"localhost:{port}"}).status == 200
    if door != "people":  # a page may be read from anywhere, agents' doors are not for pages at all
        foreign = {"Origin": "http://evil.example"}
        assert running.call("GET", "/health", door=door, headers=foreign).json()["code"] == "bad_origin"


def test_every_door_listens_on_loopback_only(running):
    address = _lan_address()
    if address is None:
        pytest.skip(missing("network", "this machine has no address but loopback"))
    for port in running.state["ports"].values():
        with pytest.raises(OSError):
            socket.create_connection((address, port), timeout=2)


def test_status_sees_the_doors(running):
    status = json.loads(running.command("flux_status", "--json").stdout)
    assert status["running"] is True
    assert all(server["answers"] for server in status["servers"].values())
    assert status["database"]["kind"] == "sqlite"
    assert (status["encoder"]["name"], status["encoder"]["problem"]) == ("hashed-256", None)
    assert "running" in running.command("flux_status").stdout


def test_a_second_start_names_the_addresses_and_how_to_stop_it(running):
    refused = running.command("flux_start", "--json", check=False)
    assert refused.returncode == 75
    error = json.loads(refused.stdout)["error"]
    assert error["details"]["urls"] == running.state["urls"]
    urls, pid = running.state["urls"], running.state["pid"]
    assert error["message"] == (
        f"Already running at {urls['people']} (pid {pid}), REST at {urls['rest']}, MCP at {urls['mcp']}. "
        "Stop it with `manage.py flux_stop --name one`."
    )
    said = running.command("flux_start", check=False)
    assert (said.returncode, said.stderr.splitlines()[-1]) == (75, error["message"])


def test_it_shows_what_it_is_doing_until_it_is_ready(running):
    said = running.output.read_text()
    steps = [
        "Starting Flux Memory (instance one)",
        "Preparing the database",
        "Starting the dashboard, REST and MCP",
        "Flux Memory is running",
    ]
    places = [said.index(step) for step in steps]
    assert places == sorted(places) and places[0] == 0


def test_the_first_line_comes_before_anything_is_loaded(instance):
    """Loading takes seconds. Settings that cannot be loaded show what is said before."""
    one = instance(DJANGO_SETTINGS_MODULE="nowhere")
    said = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "flux_start"], env=one.environment, capture_output=True, text=True
    )
    assert said.returncode > 0
    assert said.stderr.startswith("Starting Flux Memory (instance test) ...\n")


def test_a_running_instance_cannot_be_reset_or_restored(running, tmp_path):
    refused = running.command("flux_reset", "--json", "--confirm", "one", check=False)
    assert json.loads(refused.stdout)["error"]["code"] == "running"
    made = json.loads(running.command("flux_backup", "create", str(tmp_path / "b.tar.zst"), "--json").stdout)
    refused = running.command("flux_backup", "restore", made["file"], "--confirm", "one", "--json", check=False)
    assert json.loads(refused.stdout)["error"]["code"] == "running"


def test_a_taken_port_is_named(instance):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = instance().command(
            "flux_start", "--json", "--rest-port", str(port), "--people-port", "0", "--mcp-port", "0", check=False
        )
    message = json.loads(refused.stdout)["error"]["message"]
    assert f"REST server: port {port}" in message
    assert "REST_PORT" in message


@pytest.mark.parametrize(
    ("line", "said"), [("REST_HOST: no.such.host.invalid", "REST_HOST"), ("REST_PROT: 1", "line 1: unknown key")]
)
def test_a_configuration_it_cannot_use_is_named(made, line, said):
    one = made()
    (one.folder / "config.yaml").write_text(f"{line}\n")
    refused = one.command("flux_start", "--json", check=False)
    assert refused.returncode > 0
    assert said in json.loads(refused.stdout)["error"]["message"]


def test_a_ready_file_that_cannot_be_written_is_refused_before_the_start(instance):
    refused = instance().command("flux_start", "--json", "--ready-file", "/nowhere/ready.json", check=False)
    assert json.loads(refused.stdout)["error"]["details"]["field"] == "ready_file"


@pytest.fixture
def for_scripts(made):
    """An instance started with --json: one line says where it is, and its end says nothing."""
    one = made(FLUX_DURABILITY="normal")
    (one.folder / "config.yaml").write_text("REST_HOST: localhost\n")
    one.process = subprocess.Popen(
        [
            sys.executable,
            str(ROOT / "manage.py"),
            "flux_start",
            "--json",
            "--rest-port",
            "0",
            "--people-port",
            "0",
            "--mcp-port",
            "0",
        ],
        env=one.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    one.state = json.loads(one.process.stdout.readline())
    one.token = one.state["token"]
    del one.environment["FLUX_DURABILITY"]
    yield one
    assert one.process.wait(timeout=60) == 0
    assert one.process.stdout.read() == ""


def test_a_file_broken_since_the_start_does_not_lock_the_operator_out(for_scripts):
    one = for_scripts
    assert one.state["ready"] is True
    assert set(one.state["ports"]) == set(one.state["urls"]) == {"rest", "people", "mcp"}
    assert set(one.state["pids"]) == {"rest", "people", "worker"}
    assert one.call("GET", "/health").status == 200

    def warnings() -> str:
        return " ".join(json.loads(one.command("flux_status", "--json").stdout)["warnings"])

    (one.folder / "config.yaml").write_text("REST_HOST: localhost\nREAD_WORKERS: 7\n")
    said = warnings()
    assert "restart to apply READ_WORKERS" in said
    assert "durability is normal" in said  # as it was started, not as this shell would
    (one.folder / "config.yaml").write_text("REST_HOST: localhost\nREST_PROT: 1\n")
    assert "line 2: unknown key 'REST_PROT'" in warnings()
    assert json.loads(one.command("flux_backup", "--json").stdout)["bytes"] > 0
    assert json.loads(one.command("flux_stop", "--json").stdout)["stopped"] is True


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A second instance, open to the network."""
    one = Instance(tmp_path_factory.mktemp("other"), "other").with_tables().start("--broadcast")
    yield one
    one.stop()


@pytest.mark.proof
def test_two_instances_run_side_by_side_and_share_nothing(running, other):
    assert other.state["ports"] != running.state["ports"]
    assert running.call("GET", "/grains", token=other.token).status == 401
    assert other.call("GET", "/grains").json()["count"] == 0


def test_a_second_start_is_refused_while_the_first_is_under_way(made):
    one = made()
    with (one.home / ".test.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for command in (("flux_start",), ("flux_reset", "--confirm", "test")):
            refused = one.command(*command, "--json", check=False)
            assert json.loads(refused.stdout)["error"]["code"] == "running", command


def test_a_later_start_keeps_the_data_and_shows_no_token(made):
    """Of what is there it deletes the ephemeral stores, and nothing else."""
    one = made()
    minted, stored, *_ = (
        json.loads(said)
        for said in one.commands(
            "flux_token mint assistant --json",
            "flux_store kept --json",
            "flux_files create lasting --json",
            "flux_files create scratch --ephemeral --json",
        )
    )
    one.token = minted["token"]
    one.start("--processes", "2")
    assert one.state["token"] is None
    assert one.call("GET", f"/grains/{stored['grain_id']}").json()["content"] == "kept"
    with closing(connect(one)) as database:
        assert database.execute("SELECT key FROM artifacts_store WHERE deleted_at IS NULL").fetchall() == [("lasting",)]
        by = "SELECT actor, object FROM accounts_auditentry WHERE action = 'stores.delete'"
        assert database.execute(by).fetchall() == [("shell:instance", "stores/scratch")]


# As a release made it that did not know the later steps, nor that new databases get all tables at once.
_OLDER = """
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
executor = MigrationExecutor(connection)
executor.loader = MigrationLoader(connection, replace_migrations=False)
executor.migrate([("grains", "0008_what_becomes_of_a_grain"), ("fluxcore", "0002_what_comes_round")])
"""


@pytest.mark.proof
def test_an_older_database_is_backed_up_and_upgraded(on_each_database):
    one = on_each_database()
    make_home(DataHome(one.name, one.folder))
    one.command("shell", "-v", "0", "-c", _OLDER)
    one.start()
    assert "Upgraded the database" in one.output.read_text()
    assert Path(one.state["backup"]).is_file()
    (saved,) = (one.folder / "backups").glob("*before-upgrade*.tar.zst")
    assert json.loads(one.command("flux_backup", "verify", str(saved), "--json").stdout)["sound"] is True
    assert one.call("GET", "/grains").status == 200


def test_a_newer_database_is_refused_by_name(made_on_each_database):
    one = made_on_each_database()
    with closing(connect(one)) as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('grains', '9999_far_future', '2030-01-01')"
        )
    refused = one.command("flux_start", "--json", check=False)
    assert "grains.9999_far_future" in json.loads(refused.stdout)["error"]["message"]


def test_broadcast_opens_the_peoples_door_alone(other):
    address = _lan_address()
    if address is None:
        pytest.skip(missing("network", "this machine has no address but loopback"))
    ports = other.state["ports"]
    line = http.client.HTTPConnection(address, ports["people"], timeout=5)
    line.request("GET", "/health")
    assert line.getresponse().status == 200
    for closed in ("rest", "mcp"):
        with pytest.raises(OSError):
            socket.create_connection((address, ports[closed]), timeout=2)
    assert f"http://{address}:{ports['people']}/" in other.output.read_text()


def _lan_address() -> str | None:
    from memory.management.welcome import lan_addresses

    return next(iter(lan_addresses()), None)
