"""An installed wheel holds what the source tree holds: code, migrations, templates, static files, requirements."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from fluxcore.version import VERSION
from tests.instances import Instance
from tests.packaging.project_files import PACKAGES, ROOT, files
from tests.packaging.test_requirements import pins
from tests.servers import missing

pytestmark = [pytest.mark.proof, pytest.mark.xdist_group("wheel")]  # it is built once


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy, so that no build folder appears in the tree."""
    # Looked up and not imported: it refuses where the distutils of Python itself are loaded already.
    found = next((one.version for one in metadata.distributions(name="setuptools")), "0")
    if int(found.partition(".")[0]) < 77:
        pytest.skip(missing("setuptools", f"there is {found}"))
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for path in files():
        copy = source / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-deps",
            "--no-build-isolation",
            "--no-index",
            "--quiet",
            "--disable-pip-version-check",
            "--wheel-dir",
            str(target),
            str(source),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return next(target.glob("*.whl"))


def test_it_carries_the_version_of_the_code(wheel):
    assert wheel.name.startswith(f"flux_memory-{VERSION}-")


def test_it_holds_every_file_of_every_package(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        path.relative_to(ROOT).as_posix()
        for path in files()
        if path.relative_to(ROOT).parts[0] in PACKAGES and path.suffix != ".md"
    }
    assert wanted - held == set()
    assert any("/migrations/0001_initial.py" in name for name in held)
    assert any("/templates/" in name for name in held)


def test_it_holds_nothing_else(wheel):
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The wheel's own files alone, in a folder of their own; what it depends on is this environment's."""
    target = tmp_path_factory.mktemp("installed")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--no-deps",
            "--no-index",
            "--quiet",
            "--no-compile",
            "--disable-pip-version-check",
            "--target",
            str(target),
            str(wheel),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return target


def test_installed_it_remembers_and_recalls_by_the_command_flux(installed, tmp_path):
    one = Instance(tmp_path, "default", PYTHONPATH=str(installed)).with_tables()

    def flux(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, str(installed / "bin/flux"), *words],
            env=one.environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    flux("init", "--no-input", "--token-file", str(tmp_path / "token"))
    flux("store", "Anna prefers the night train to Lisbon")
    assert "night train" in flux("recall", "How does Anna travel to Lisbon?")
    assert (tmp_path / "token").read_text().startswith("flux_")


def test_installed_it_finds_its_pages_and_weights(installed, tmp_path):
    code = (
        "import fluxsite.home, os\n"
        "from fluxsite.databases import use_safe_sqlite\nuse_safe_sqlite()\n"
        "import django; django.setup()\n"
        "from django.template.loader import get_template\n"
        "from django.contrib.staticfiles import finders\n"
        "from memory.embedding import encoder_kinds\n"
        "get_template('dashboard/recall.html')\n"
        "print(finders.find('dashboard/flux.css'), encoder_kinds.package_folder('wordllama'), fluxsite.home.__file__)"
    )
    environment = {
        **Instance(tmp_path).environment,
        "PYTHONPATH": str(installed),
        "FLUX_DOOR": "people",
        "DJANGO_SETTINGS_MODULE": "fluxsite.settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    css, weights, home = done.stdout.split()
    assert css.startswith(str(installed)) and home.startswith(str(installed))
    assert Path(weights).is_dir()


def test_its_requirements_are_ours_without_the_comments(wheel):
    bundle = zipfile.ZipFile(wheel)
    metadata = bundle.read(next(name for name in bundle.namelist() if name.endswith("/METADATA"))).decode()
    requires = re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE)
    plain = {one.lower().replace(" ", "") for one in requires if "extra" not in one}
    assert plain == {pin.lower().replace(" ", "") for pin, _ in pins("requirements.txt")}
    extra = [one for one in requires if re.search(r"extra == ['\"]test['\"]", one)]
    assert len(extra) == len(pins("requirements-dev.txt"))
    assert "#" not in "".join(requires)


def test_it_is_under_the_licence_of_the_repository(wheel):
    bundle = zipfile.ZipFile(wheel)
    licence = next(name for name in bundle.namelist() if name.endswith("licenses/LICENSE"))
    assert bundle.read(licence) == (ROOT / "LICENSE").read_bytes()
