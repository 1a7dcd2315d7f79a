"""Migration 0003: keys that stood in clear are sealed, and agents keep what they hold"""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from fluxcore.seal import unseal

BESIDE = [("otp_totp", "0003_add_timestamps"), ("sessions", "0001_initial")]
BEFORE, AFTER = [("accounts", "0002_people_and_grants")], [("accounts", "0003_seal_what_was_clear")]


@pytest.mark.django_db(transaction=True)
def test_keys_move_from_clear_to_sealed_and_agents_get_the_trust_they_use():
    executor = MigrationExecutor(connection)
    latest = executor.loader.graph.leaf_nodes()
    executor.migrate(BEFORE)
    try:
        old = executor.loader.project_state([*BEFORE, *BESIDE]).apps
        user = old.get_model("accounts", "User").objects.create(username="ada")
        old.get_model("otp_totp", "TOTPDevice").objects.create(
            user_id=user.pk, name="authenticator", key="ab" * 20, confirmed=True, last_t=77
        )
        other = old.get_model("accounts", "User").objects.create(username="grace")
        old.get_model("otp_totp", "TOTPDevice").objects.create(
            user_id=other.pk, name="never confirmed", key="cd" * 20, confirmed=False
        )
        old.get_model("sessions", "Session").objects.create(
            session_key="a" * 32, session_data="x", expire_date=timezone.now()
        )
        space = old.get_model("accounts", "Space").objects.create(name="home", created_at=timezone.now())
        for name, holds in {"reader": ["grains.read"], "exporter": ["graph.export"]}.items():
            old.get_model("accounts", "Agent").objects.create(
                space=space, name=name, capabilities=holds, created_at=timezone.now()
            )
        executor = MigrationExecutor(connection)
        executor.migrate(AFTER)
        new = executor.loader.project_state([*AFTER, *BESIDE]).apps
        sealed = new.get_model("accounts", "Authenticator").objects.get()
        assert unseal(sealed.sealed_key, about=f"authenticator:{user.pk}") == bytes.fromhex("ab" * 20)
        assert (sealed.user_id, sealed.last_step, sealed.confirmed) == (user.pk, 77, True)
        assert not new.get_model("otp_totp", "TOTPDevice").objects.exists()
        assert not new.get_model("sessions", "Session").objects.exists()
        trust = dict(new.get_model("accounts", "Agent").objects.values_list("name", "trust"))
        assert trust == {"reader": "trusted", "exporter": "privileged"}
    finally:
        MigrationExecutor(connection).migrate(latest)
