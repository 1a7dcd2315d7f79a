"""Two commands are enough, and they are the ones the README names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.docs.pages import PAGES
from tests.packaging.project_files import ROOT
from tests.packaging.test_requirements import pins
from tests.packaging.test_runtime import needed_by

MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
ADAPTERS_INPUTS = ("requirements-adapters.txt", "constraints-adapters.txt")
FLYTE = "requirements-flyte.txt"
RUNTIME_INPUTS = ("requirements.txt", "requirements-models.txt", "constraints.txt", "scripts/install")


@pytest.fixture
def built(tmp_path):
    """What make looks at, with an environment that is up to date; a function that says what a target would do."""
    for name in ("Makefile", "requirements-dev.txt", FLYTE, *ADAPTERS_INPUTS, *RUNTIME_INPUTS):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
        os.utime(tmp_path / name, (time.time() - 200,) * 2)
    (tmp_path / ".venv" / ".adapters").mkdir(parents=True)
    for stamp in (".runtime", ".dev", ".adapters/.installed", ".adapters/.flyte"):
        (tmp_path / ".venv" / stamp).touch()
        os.utime(tmp_path / ".venv" / stamp, (time.time() - 100,) * 2)
    # Under `make test` these would hand this make the flags of the outer one.
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}

    def plan(*target: str) -> str:
        return subprocess.run(
            ["make", "-n", "-C", str(tmp_path), *target], env=environment, capture_output=True, text=True, check=True
        ).stdout

    return tmp_path, plan


@pytest.mark.parametrize("target", ["run", "test"])
def test_the_readme_names_a_target(target):
    assert f"make {target}" in (ROOT / "README.md").read_text()
    assert target in TARGETS


@pytest.mark.parametrize(
    ("target", "does"),
    [
        ("run", "manage.py flux_start"),
        ("test", "-m pytest"),
        ("lint", "ruff check"),
        ("types", "mypy"),
        ("layers", "lint-imports"),
        ("migrations", "makemigrations --check"),
        ("bench", "-m benchmarks"),
        ("torture", "pytest -m torture"),
        ("proofs", '-m "proof and'),
        ("lock", "--output-file constraints.txt"),
        ("lock", "--output-file constraints-adapters.txt"),
        ("adapters", "-m tests.adapters .venv/.adapters/bin/python"),
    ],
)
def test_every_target_does_its_work_in_an_environment_that_is_built(built, target, does):
    _, plan = built
    planned = plan(target)
    assert does in planned
    assert "scripts/install" not in planned


@pytest.mark.parametrize("name", RUNTIME_INPUTS)
def test_a_touched_input_rebuilds_the_environment(built, name):
    folder, plan = built
    (folder / name).touch()
    assert "scripts/install .venv runtime" in plan("run")
    assert "scripts/install .venv dev" in plan("test")


def test_a_touched_development_file_rebuilds_the_development_environment_alone(built):
    folder, plan = built
    (folder / "requirements-dev.txt").touch()
    assert "scripts/install" not in plan("run")
    assert "scripts/install .venv dev" in plan("test")


@pytest.mark.parametrize("name", ADAPTERS_INPUTS)
def test_a_touched_file_of_the_adapters_rebuilds_their_environment_alone(built, name):
    folder, plan = built
    assert "venv --clear" not in plan("adapters")
    (folder / name).touch()
    assert "venv --clear .venv/.adapters" in plan("adapters")
    assert "scripts/install" not in plan("adapters")
    assert "adapters" not in plan("run")


def test_flyte_has_a_step_of_its_own(built):
    folder, plan = built
    assert "-k flyte" in plan("adapters")
    (folder / FLYTE).touch()
    assert "venv --clear" not in plan("adapters") and f"-r {FLYTE}" in plan("adapters")


@pytest.mark.parametrize("installs", [True, False])
def test_adapters_are_compared_where_flyte_does_not_install(built, installs):
    """Programs that only say what they were asked to do, but for the installation of flyte, which fails or not."""
    folder, _ = built
    (folder / ".venv/.adapters/.flyte").unlink()
    for place, ends in (
        (".venv/bin/python", True),
        (".venv/bin/uv", installs),
        (".venv/.adapters/bin/python", installs),
    ):
        program = folder / place
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho ran $(basename $0) $*\nexit {0 if ends else 1}\n")
        program.chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(["make", "-C", str(folder), "adapters"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ran python -m tests.adapters" in done.stdout
    assert ("-k flyte" in done.stdout, "SKIPPED: flyte" in done.stdout) == (installs, not installs)


@pytest.mark.parametrize("target", ["run", "test"])
def test_an_environment_that_is_missing_is_built(built, target):
    folder, plan = built
    shutil.rmtree(folder / ".venv")
    assert "scripts/install .venv" in plan(target)


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_the_lock_pins_everything_a_file_brings_in(name):
    """A package that only another one asks for would otherwise be a different version on every machine."""
    lines = [Requirement(line) for line in (ROOT / "constraints.txt").read_text().splitlines()]
    exact = {
        canonicalize_name(line.name)
        for line in lines
        if re.fullmatch(r"==[^*,]+", str(line.specifier)) and (line.marker is None or line.marker.evaluate())
    }
    needed = needed_by([pin for pin, _ in pins(name)])
    assert len(needed) > len(pins(name))
    assert needed - exact == set()


def test_every_folder_of_tests_is_a_room_but_the_torture(built):
    folder, plan = built
    for room in ("rest", "added", "torture", "calls", "engine"):
        (folder / "tests" / room).mkdir(parents=True)
    planned = plan("test")
    assert "pytest -q -p no:xdist tests/calls tests/engine" in planned  # short ones share a process
    assert "pytest -q -p no:xdist tests/rest" in planned
    assert "pytest -q -p no:xdist tests/added" in planned
    assert "tests/torture" not in planned


def test_one_room_runs_alone(built):
    _, plan = built
    planned = plan("test", "ROOM=rest")
    assert "tests/rest" in planned and "ruff" in planned
    assert "mypy" not in planned and "postgres" not in planned


def test_what_the_postgresql_pass_names_is_there():
    named = re.search(r"^POSTGRES := ((?:.*\\\n)*.*)$", MAKEFILE, re.MULTILINE).group(1).replace("\\", "").split()
    assert [name for name in named if not (ROOT / "tests" / name).exists()] == []


def test_every_make_command_in_the_documents_is_a_target():
    documents = [*PAGES, ROOT / "CHANGELOG.md"]
    # `make` is also an English verb; only what stands in code is a command.
    in_code = {
        name for path in documents for name in re.findall(r"(?:`|^)make ([a-z]+)", path.read_text(), re.MULTILINE)
    }
    assert {"run", "test"} <= in_code <= TARGETS


def test_every_target_is_phony():
    """A file that happens to be called `test` must not stop the tests."""
    phony = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE).group(1).split())
    assert phony == TARGETS


@pytest.mark.parametrize("script", [".ci/run", "scripts/install", "scripts/secrets"])
def test_a_script_is_executable_and_parses(script):
    path = ROOT / script
    assert path.stat().st_mode & 0o111
    assert path.read_text().startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail" in path.read_text()
    subprocess.run(["bash", "-n", str(path)], check=True)


def test_continuous_integration_accepts_no_skipped_part():
    text = (ROOT / ".ci/run").read_text()
    required = set(re.search(r"required=([a-z,]+)", text).group(1).split(","))
    assert {"postgres", "redis", "browser", "node"} <= required
    assert "FLUX_TESTS_REQUIRE=$required make test" in text
    assert "FLUX_TESTS_REQUIRE=$required make proofs" in text
    assert "make adapters" in text
    assert "run ONCE=1" in text
    assert "git clone" in text
    assert '-e "$fresh/clone[test]"' in text


def test_a_part_that_is_missing_fails_where_it_is_required():
    """Every skip names its part, so that none can hide in a green run."""
    free = {"PostgreSQL only", "SQLite has one writer at a time"}  # the other database's pass runs these
    free |= {"their clock is not that of the test"}  # times of blobs in a bucket are the server's
    free |= {"there is no second file system here"}  # a copy between file systems cannot be tried without two
    free |= {"it reads the clock less often"}  # tests/midnight_plugin.py, which is loaded by hand
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text()
        assert not re.search(r"mark\.skip|mark\.xfail", text), path.name
        for reason in re.findall(r"pytest\.skip\(([^\n]*)\)", text):
            assert reason.startswith("missing(") or any(word in reason for word in free), f"{path.name}: {reason}"
