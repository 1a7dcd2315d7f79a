"""What others wrote and pages load: listed, licensed, and as their authors published it"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import dashboard

FOLDER = Path(dashboard.__file__).parent / "static" / "vendor"
_ROW = re.compile(r"\| (\S+) \| [^|]+ \| ([\d.]+) \| (MIT), (\S+) \| [^|]+ \| `([0-9a-f]{64})` \|")


def listed() -> list[tuple[str, ...]]:
    return _ROW.findall((FOLDER / "README.md").read_text())


def test_every_file_is_listed_and_every_listed_file_is_there():
    named = {name for row in listed() for name in (row[0], row[3])}
    assert {path.name for path in FOLDER.iterdir()} == named | {"README.md"}


def test_every_file_is_as_it_was_published():
    for name, version, _, _, digest in listed():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name
        assert f"-{version}." in name


def test_every_licence_is_the_one_it_is_said_to_be():
    for _, _, licence, text, _ in listed():
        said = " ".join((FOLDER / text).read_text().split())
        assert licence == "MIT" and "Copyright" in said
        assert "Permission is hereby granted, free of charge, to any person obtaining a copy" in said
