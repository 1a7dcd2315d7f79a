"""Migration 0003: keys stored in clear are encrypted, and agents keep their capabilities."""

from __future__ import annotations

import json

import pytest

from fluxsite.home import DataHome, make_home
from tests.concurrency.databases import new_database

# In a process and a database of its own, which never was newer: to undo every later migration and do it again took
# longer than most rooms' tests together.
UPGRADE = """
import json
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from fluxcore.encryption import decrypt

BESIDE = [("otp_totp", "0003_add_timestamps"), ("sessions", "0001_initial")]
BEFORE, AFTER = [("accounts", "0002_people_and_grants")], [("accounts", "0003_seal_what_was_clear")]

executor = MigrationExecutor(connection)
executor.migrate([*BEFORE, *BESIDE])
old = executor.loader.project_state([*BEFORE, *BESIDE]).apps.get_model
user, other = (old("accounts", "User").objects.create(username=name) for name in ("ada", "grace"))
devices = old("otp_totp", "TOTPDevice").objects
devices.create(user_id=user.pk, name="authenticator", key="ab" * 20, confirmed=True, last_t=77)
devices.create(user_id=other.pk, name="never confirmed", key="cd" * 20, confirmed=False)
old("sessions", "Session").objects.create(session_key="a" * 32, session_data="x", expire_date=timezone.now())
space = old("accounts", "Space").objects.create(name="home", created_at=timezone.now())
for name, holds in {"reader": ["grains.read"], "exporter": ["graph.export"]}.items():
    old("accounts", "Agent").objects.create(space=space, name=name, capabilities=holds, created_at=timezone.now())

executor = MigrationExecutor(connection)
executor.migrate(AFTER)
new = executor.loader.project_state([*AFTER, *BESIDE]).apps.get_model
sealed = new("accounts", "Authenticator").objects.get()
print(json.dumps({
    "keys": [decrypt(sealed.sealed_key, about=f"authenticator:{user.pk}").hex()],
    "authenticator": [sealed.user_id == user.pk, sealed.last_step, sealed.confirmed],
    "in clear": new("otp_totp", "TOTPDevice").objects.count(),
    "sessions": new("sessions", "Session").objects.count(),
    "trust": dict(new("accounts", "Agent").objects.values_list("name", "trust")),
}))
"""


@pytest.mark.proof
@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_keys_move_from_clear_to_sealed_and_agents_get_the_trust_they_use(database, instance, request):
    one = instance()
    if database == "postgres":
        one = instance(DATABASE_URL=new_database(request.getfixturevalue("postgres_url")))
    make_home(DataHome(one.name, one.folder))
    assert json.loads(one.command("shell", "-v", "0", "-c", UPGRADE).stdout.strip().splitlines()[-1]) == {
        "keys": ["ab" * 20],
        "authenticator": [True, 77, True],
        "in clear": 0,
        "sessions": 0,
        "trust": {"reader": "trusted", "exporter": "privileged"},
    }
