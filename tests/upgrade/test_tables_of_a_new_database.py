"""A new database gets its tables at once; they are those that an old one has after all upgrades, step by step."""

from __future__ import annotations

import json

import pytest

from fluxsite.home import DataHome, make_home
from tests.concurrency.databases import new_database

_STEPS = """
from django.db.migrations.loader import MigrationLoader
executor.loader = MigrationLoader(connection, replace_migrations=False)
steps = True
"""
_MADE = """
import json
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

executor, steps = MigrationExecutor(connection), False
%s
last = executor.loader.graph.leaf_nodes()
executor.migrate([one for one in last if not executor.loader.get_migration(*one).replaces or not steps])
found = {}
with connection.cursor() as cursor:
    seen = connection.introspection
    for table in seen.table_names(cursor):
        constraints = seen.get_constraints(cursor, table).items()
        found[table] = {
            "columns": sorted(
                [one.name, str(one.type_code), str(one.null_ok), str(one.default), str(one.collation)]
                for one in seen.get_table_description(cursor, table)
            ),
            "constraints": sorted(
                [name if not name.startswith(table) and "__" not in name else "", sorted(one["columns"] or ()),
                 one["primary_key"], one["unique"], str(one["foreign_key"]), one["check"], one["index"]]
                for name, one in constraints
            ),
        }
print(json.dumps({"tables": found, "steps": len(executor.loader.applied_migrations)}))
"""


@pytest.mark.proof
@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_tables_made_at_once_are_those_made_step_by_step(database, instance, request):
    made = []
    for steps in ("", _STEPS):
        environment = {}
        if database == "postgres":
            environment["DATABASE_URL"] = new_database(request.getfixturevalue("postgres_url"))
        one = instance(**environment)
        make_home(DataHome(one.name, one.folder))
        made.append(json.loads(one.command("shell", "-v", "0", "-c", _MADE % steps).stdout.strip().splitlines()[-1]))
    at_once, by_steps = (one["tables"] for one in made)
    assert at_once.keys() == by_steps.keys() and len(at_once) > 60
    for table, shape in at_once.items():
        assert shape == by_steps[table], table
