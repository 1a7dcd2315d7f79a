"""What is in the repository would make sense to a stranger on another machine."""

from __future__ import annotations

import re

from tests.packaging.project_files import ROOT, files

# Places that exist only on the machine where somebody worked.
MACHINE_PATHS = re.compile(
    r"(?<![\w.-])/(?:" + "|".join(("home", "root", "work", "Users", "opt/pypi", "opt/wheels", "mnt")) + r")/[\w.-]+"
)
# Hosts of package registries and mirrors: which one to use is the installer's configuration, not ours.
REGISTRIES = re.compile(
    "|".join((r"pypi\.org", r"pythonhosted", r"npm" r"js\.(?:org|com)", r"artifactory", r"index-url\s*=?\s*http"))
)
BINARY = {".png", ".ico", ".woff2", ".zip", ".gz", ".xz"}


def texts():
    for path in files():
        if path.suffix not in BINARY and path != ROOT / "tests/packaging/test_tracked_files.py":
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def test_there_is_something_to_look_at():
    assert len(files()) > 100


def test_no_file_names_a_path_of_one_machine():
    assert [(str(path), found) for path, text in texts() for found in MACHINE_PATHS.findall(text)] == []


def test_no_file_names_a_package_registry():
    assert [(str(path), found) for path, text in texts() for found in REGISTRIES.findall(text)] == []


def test_no_token_or_key_is_in_a_file():
    token = re.compile(r"flux_[A-Za-z0-9]{8}_[A-Za-z0-9_-]{43}|-----BEGIN [A-Z ]*PRIVATE KEY-----")
    assert [(str(path), found) for path, text in texts() for found in token.findall(text)] == []
