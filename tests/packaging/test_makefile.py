"""Two commands are enough, and they are the ones the README names."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.packaging.tree import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))


@pytest.mark.parametrize("target", ["run", "test"])
def test_the_readme_names_a_target(target):
    assert f"make {target}" in (ROOT / "README.md").read_text()
    assert target in TARGETS


def test_every_make_command_in_the_documents_is_a_target():
    documents = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]
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
    assert "run ONCE=1" in text
    assert "git clone" in text
    assert '-e "$fresh/clone[test]"' in text


def test_a_part_that_is_missing_fails_where_it_is_required():
    """Every skip names its part, so that none can hide in a green run."""
    free = {"PostgreSQL only"}  # the other database's pass runs these
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text()
        assert not re.search(r"mark\.skip|mark\.xfail", text), path.name
        for reason in re.findall(r"pytest\.skip\(([^\n]*)\)", text):
            assert reason.startswith("missing(") or any(word in reason for word in free), f"{path.name}: {reason}"
