"""Memories of other programs, made here: a flux-memory database, an MCP memory file, a folder of notes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accounts.principals import Principal, shell
from memory.transfer import formats
from memory.transfer.importer import ImportTally, ItemOutcome, import_source

SCHEMA = """
CREATE TABLE grains (id TEXT PRIMARY KEY, content TEXT, provenance TEXT, confidence REAL DEFAULT 1.0,
  decay_class TEXT DEFAULT 'working', status TEXT DEFAULT 'active', created_at TEXT, dormant_since TEXT,
  context_spread INTEGER DEFAULT 0, source_tags TEXT DEFAULT '[]');
CREATE TABLE conduits (id TEXT PRIMARY KEY, from_id TEXT, to_id TEXT, weight REAL DEFAULT 0.25, created_at TEXT,
  last_used TEXT, use_count INTEGER DEFAULT 0, direction TEXT DEFAULT 'forward', decay_class TEXT DEFAULT 'working',
  relation TEXT DEFAULT 'related');
CREATE TABLE entries (id TEXT PRIMARY KEY, feature TEXT UNIQUE, affinities TEXT);
"""
GRAINS = [
    ("a" * 32, "Mira keeps bees on the roof", "user_stated", 1.0, "core", "active", "2026-02-01 10:00:00", '["bees"]'),
    ("b" * 32, "The hives were moved in May", "ai_inferred", 0.4, "working", "dormant", "2026-05-03 08:30:00", "[]"),
    ("c" * 32, "Honey is sold on Saturdays", "told_by_a_bird", 1.0, "working", "active", "2026-05-04 08:30:00", None),
    ("d" * 32, "Something to forget", "ai_stated", 1.0, "working", "pending_deletion", "2026-05-05 08:30:00", "[]"),
]
CONDUITS = [
    ("1", "a" * 32, "b" * 32, 0.8, "2026-05-03 08:30:00", "2026-06-01T09:00:00.123456Z", 3, "related"),
    ("2", "a" * 32, "c" * 32, 0.3, "2026-05-04 08:30:00", "2026-05-04 08:30:00", 0, "related"),
    ("3", "c" * 32, "a" * 32, 0.5, "2026-05-04 08:30:00", "2026-05-04 08:30:00", 0, "supports"),
    ("4", "e-entry", "a" * 32, 0.5, "2026-05-04 08:30:00", "2026-05-04 08:30:00", 9, "related"),
]
KNOWLEDGE = [
    {"type": "entity", "name": "Mira", "entityType": "person", "observations": ["keeps bees", "Mira drives a van"]},
    {"type": "entity", "name": "Roof garden", "entityType": "place", "observations": []},
    {"type": "relation", "from": "Mira", "to": "Roof garden", "relationType": "takes_care_of"},
]


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    path = tmp_path / "flux.db"
    with closing(sqlite3.connect(path)) as base:
        base.executescript(SCHEMA)
        base.executemany(
            "INSERT INTO grains (id, content, provenance, confidence, decay_class, status, created_at, source_tags) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            GRAINS,
        )
        base.executemany(
            "INSERT INTO conduits (id, from_id, to_id, weight, created_at, last_used, use_count, relation) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            CONDUITS,
        )
        base.commit()
    return path


@pytest.fixture
def knowledge(tmp_path: Path) -> Path:
    path = tmp_path / "memory.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in KNOWLEDGE))
    return path


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    (folder / ".obsidian").mkdir(parents=True)
    (folder / ".obsidian" / "app.md").write_text("settings, no memory")
    (folder / "people").mkdir()
    (folder / "Bees.md").write_text(
        "---\ntags: [hobby, '#roof']\ncreated: 2025-04-01\n---\nKept by [[Mira]] since spring. #honey\n\n"
        "## Feeding\nSugar water in `#winter`.\n\n```\n# no heading here\n```\n"
    )
    (folder / "people" / "Mira.md").write_text("# Mira\nLives above the [[Bees|hives]] and [[Nowhere]].\n")
    (folder / "list.txt").write_text("milk, eggs")
    return folder


@pytest.fixture
def who(space: Any) -> Principal:
    return shell(space)


@pytest.fixture
def move(who: Principal) -> Callable[..., tuple[dict[str, int], list[ItemOutcome]]]:
    """Import a path; how many of each, and what became of each."""

    def call(
        path: Path, *, ceiling: str = "user_stated", provenance: str | None = None, dry: bool = False, **how: Any
    ) -> tuple[dict[str, int], list[ItemOutcome]]:
        tally, every = ImportTally(), list[ItemOutcome]()
        source = formats.read(path, **how)
        for told in import_source(replace(who, ceiling=ceiling), source, provenance=provenance, dry=dry):
            tally.add(told)
            every += told
        return tally.shape(), every

    return call
