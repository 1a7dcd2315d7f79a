"""An upgrade counts what is there: history of keys, grains by writer; and no lock lasts longer than a day"""

from __future__ import annotations

import json

import pytest

from fluxsite.home import DataHome, make_home
from tests.concurrency.databases import new_database

# In a process and a database of its own, which never was newer.
UPGRADE = """
import json, time
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

BEFORE = [("keyvalue", "0001_initial"), ("grains", "0010_what_was_there_before_votes"),
          ("extraction", "0001_what_waits_for_the_model")]
AFTER = [("keyvalue", "0002_counted_history"), ("grains", "0012_grain_usage"), ("extraction", "0002_budget_share")]
now = timezone.now()

executor = MigrationExecutor(connection)
executor.loader = MigrationLoader(connection, replace_migrations=False)  # step by step, as older releases did
executor.migrate(BEFORE)
old = executor.loader.project_state(BEFORE).apps.get_model
home, other = (old("accounts", "Space").objects.create(name=name, created_at=now) for name in ("home", "other"))
for space, writer, text in (
    (home, "agent:alice", "na\\u00efve"), (home, "agent:alice", "b"), (home, "agent:bob", "c"), (other, "user:ada", "d")
):
    grain = old("grains", "Grain").objects.create(
        space_id=space.pk, text=text, digest=text, origin="ai_stated", writer=writer, recorded_at=now
    )
old("extraction", "Extraction").objects.create(
    space_id=other.pk, grain_id=grain.pk, ceiling=1, asked_at=now, due_at=now
)
board, empty = (
    old("keyvalue", "Namespace").objects.create(
        space_id=home.pk, kind="board", name=name, created_at=now, created_by="agent:alice"
    )
    for name in ("main", "empty")
)
item = old("keyvalue", "Item").objects.create(
    namespace=board, key="k", value="1", version=2, sha="x", size=1, written_at=now, writer="agent:alice"
)
for version, size in ((1, 5), (2, 1)):
    old("keyvalue", "Revision").objects.create(
        item=item, version=version, kind="written", value="1", sha="x", size=size, at=now, writer="agent:alice"
    )
for name, seconds in (("long", 10 * 365 * 86_400), ("short", 60)):
    old("keyvalue", "Lock").objects.create(
        board=board, name=name, token=1, holder="agent:alice", expires=time.time() + seconds, acquired_at=now
    )

executor = MigrationExecutor(connection)
executor.loader = MigrationLoader(connection, replace_migrations=False)
executor.migrate(AFTER)
new = executor.loader.project_state(AFTER).apps.get_model
left = {row.name: row.expires - time.time() for row in new("keyvalue", "Lock").objects.all()}
print(json.dumps({
    "history": dict(new("keyvalue", "Namespace").objects.values_list("name", "history_bytes")),
    "grains": sorted(new("grains", "GrainUsage").objects.values_list("space__name", "writer", "grains", "bytes")),
    "asked": list(new("extraction", "Extraction").objects.values_list("asked_by", flat=True)),
    "locks": [left["short"] < 61, 80_000 < left["long"] <= 86_400],
}))
"""


@pytest.mark.proof
@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_what_is_there_is_counted(database, instance, request):
    one = instance()
    if database == "postgres":
        one = instance(DATABASE_URL=new_database(request.getfixturevalue("postgres_url")))
    make_home(DataHome(one.name, one.folder))
    assert json.loads(one.command("shell", "-v", "0", "-c", UPGRADE).stdout.strip().splitlines()[-1]) == {
        "history": {"main": 6, "empty": 0},
        "grains": [
            ["home", "", 3, 8],
            ["home", "agent:alice", 2, 7],
            ["home", "agent:bob", 1, 1],
            ["other", "", 1, 1],
            ["other", "user:ada", 1, 1],
        ],
        "asked": ["user:ada"],
        "locks": [True, True],
    }
