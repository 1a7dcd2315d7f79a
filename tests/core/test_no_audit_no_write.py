"""Audit and event rows that cannot be written: nothing is stored and every caller gets an error."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db import connection

from accounts import agents, job_verbs, tokens
from accounts.models import AuditEntry, Space
from accounts.principals import shell
from fluxcore import clock, events
from fluxcore.errors import StorageUnavailable
from fluxcore.models import Event, IdempotencyKey
from fluxcore.work import jobs
from fluxcore.writes import booth
from tests.core.test_booth import Held

REFUSE_SQLITE = "CREATE TRIGGER refuse BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'no more'); END"
REFUSE_POSTGRES = """
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no more'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()
"""


@pytest.fixture
def unwritable(transactional_db):
    """Make a table refuse every new row, until the test ends."""
    tables = []

    def refuse(model):
        tables.append(model._meta.db_table)
        sql = REFUSE_POSTGRES if connection.vendor == "postgresql" else REFUSE_SQLITE
        with connection.cursor() as cursor:
            cursor.execute(sql.format(table=tables[-1]))

    yield refuse
    with connection.cursor() as cursor:
        for table in tables:
            if connection.vendor == "postgresql":
                cursor.execute(f"DROP TRIGGER refuse ON {table}; DROP FUNCTION refuse()")
            else:
                cursor.execute("DROP TRIGGER refuse")


def test_a_hundred_writes_are_all_refused_and_none_is_visible(any_booth, unwritable):
    unwritable(AuditEntry)
    for number in range(100):
        with pytest.raises(StorageUnavailable, match="audit rows of this write could not be written"):
            agents.create_space(shell(), name=f"s{number}", idempotency_key=f"k{number}")
    assert not Space.objects.exists()
    assert not Event.objects.exists()
    assert not IdempotencyKey.objects.exists()


def test_a_hundred_writes_of_every_kind_are_refused_over_rest_and_in_the_shell(unwritable, api, as_agent, make_token):
    """Twelve kinds in turn: with a clean code, and with nothing changed in any table."""
    reader = as_agent(make_token("reader", capabilities=("grains.read",)))
    spare = make_token("spare")
    stored = api.post("/store", {"content": "before"}).json()["grain_id"]
    waiting = str(booth.write(lambda: jobs.enqueue("test.none")))
    before = everything()
    unwritable(AuditEntry)

    def through(client, path, body, **headers):
        answer = client.post(path, body, headers=headers)
        return answer.status_code, answer.json()["code"]

    def shell_says(verb, **arguments):
        with pytest.raises(StorageUnavailable) as refused:
            verb(shell(), **arguments)
        return refused.value.status, refused.value.code

    kinds = [
        lambda number: through(api, "/store", {"content": f"new {number}"}),
        lambda number: through(api, "/store", {"content": "before"}),
        lambda number: through(api, "/store", {"content": f"keyed {number}"}, **{"Idempotency-Key": f"k{number}"}),
        lambda number: through(
            api, "/store/batch", {"items": [{"content": f"a {number}"}, {"content": f"b {number}"}]}
        ),
        lambda number: through(reader, "/store", {"content": f"refused {number}"}),
        lambda number: shell_says(agents.create_space, name=f"s{number}"),
        lambda number: shell_says(agents.create_agent, space="home", name=f"a{number}", capabilities=[]),
        lambda number: shell_says(agents.apply_agent, space="home", name="reader", capabilities=["grains.write"]),
        lambda number: shell_says(agents.switch_agent, space="home", name="reader", active=False),
        lambda number: shell_says(tokens.mint, space="home", agent="reader"),
        lambda number: shell_says(tokens.revoke, prefix=spare.split("_")[1]),
        lambda number: shell_says(job_verbs.park_job, job=waiting),
    ]
    found = {kinds[number % len(kinds)](number) for number in range(100)}
    assert found == {(503, "storage_unavailable")}
    assert everything() == before
    assert api.get(f"/grains/{stored}").json()["content"] == "before"
    assert api.get("/grains").json()["grains"][0]["id"] == stored


def everything():
    """Every row of every table, but for when a token was last used: that is noted without a link."""
    found = {}
    for model in apps.get_models(include_auto_created=True):
        rows = [
            {name: value for name, value in row.items() if name != "last_used_at"}
            for row in model.objects.order_by("pk").values()
        ]
        found[model._meta.db_table] = rows
    return found


def test_every_caller_of_a_batch_gets_an_error(threaded, unwritable):
    held = Held()
    unwritable(AuditEntry)
    found = held.then(*(lambda number=number: agents.create_space(shell(), name=f"s{number}") for number in range(8)))
    assert [type(error) for error in found] == [StorageUnavailable] * 8
    assert not Space.objects.exists()


def test_a_write_without_an_audit_entry_is_not_refused_with_the_others(threaded, unwritable):
    held = Held()
    unwritable(AuditEntry)

    def note():
        Space.objects.create(name="quiet", created_at=clock.now())
        return "kept"

    found = held.then(note, lambda: agents.create_space(shell(), name="loud"))
    assert found[0] == "kept"
    assert isinstance(found[1], StorageUnavailable)
    assert [space.name for space in Space.objects.all()] == ["quiet"]


def test_an_event_that_cannot_be_written_refuses_the_write_too(any_booth, unwritable):
    unwritable(Event)

    def work():
        Space.objects.create(name="s", created_at=clock.now())
        events.append("test", space=None, actor="shell:test", subject="s")

    with pytest.raises(StorageUnavailable, match="event rows of this write could not be written"):
        booth.write(work)
    assert not Space.objects.exists()


def test_writes_succeed_again_when_the_chain_can_be_written(any_booth, unwritable):
    unwritable(AuditEntry)
    with pytest.raises(StorageUnavailable):
        agents.create_space(shell(), name="one")
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"ALTER TABLE {AuditEntry._meta.db_table} DISABLE TRIGGER refuse")
        else:
            cursor.execute("DROP TRIGGER refuse")
            cursor.execute(REFUSE_SQLITE.format(table="django_session"))  # what the fixture takes away
    assert agents.create_space(shell(), name="two")["name"] == "two"
