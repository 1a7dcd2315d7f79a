"""An installed wheel holds what the source tree holds: code, migrations, templates, static files, requirements."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fluxcore.version import VERSION
from tests.packaging.test_requirements import pins
from tests.packaging.tree import PACKAGES, ROOT, files
from tests.servers import missing

pytestmark = pytest.mark.xdist_group("wheel")  # it is built once


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy, so that no build folder appears in the tree."""
    try:
        pytest.importorskip("setuptools", "77")
    except pytest.skip.Exception as error:
        pytest.skip(missing("setuptools", str(error)))
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for path in files():
        copy = source / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--quiet",
         "--disable-pip-version-check", "--wheel-dir", str(target), str(source)],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
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
