"""SQL statements per list, stored in statement_counts.json: the same for 500 rows as for none, at most 12."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import (
    Agent,
    AuditEntry,
    Authenticator,
    Enrolment,
    Grant,
    GrantRequest,
    GuessCount,
    Membership,
    RefusalMinute,
    Session,
    Space,
    Token,
    User,
)
from fluxcore import clock
from fluxcore.models import Event, Job
from memory.artifacts.models import File, FileChange, Message, Store
from memory.grains.models import (
    Cluster,
    ClusterUse,
    Conduit,
    Entry,
    Grain,
    JudgedQuestion,
    Member,
    Removal,
    Tombstone,
    Trace,
    Transition,
    Vector,
    Vote,
)
from memory.health.models import Warning
from memory.keyvalue import expiry_clock as moment_of_expiry
from memory.keyvalue.models import Item, Lock, Namespace, Task
from memory.review.models import ReviewItem
from tests.admin.conftest import list_of, pages

CHECKED_IN = Path(__file__).with_name("statement_counts.json")
MOST = 12
_TRANSACTION = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")


def moment(number: int) -> Any:
    return clock.now() - timedelta(minutes=number)


def agents(many: int) -> list[Agent]:
    space = Space.objects.get_or_create(name="full", defaults={"created_at": clock.now()})[0]
    return Agent.objects.bulk_create(
        Agent(space=space, name=f"agent{n}", capabilities=["grains.read"], created_at=clock.now()) for n in range(many)
    )


def users(many: int) -> list[User]:
    made = User.objects.bulk_create(User(username=f"person{n}", is_staff=True) for n in range(many))
    Authenticator.objects.bulk_create(
        Authenticator(user=user, name="x", sealed_key="x", created_at=clock.now()) for user in made
    )
    return made


def memberships(many: int) -> None:
    space = Space.objects.get_or_create(name="full", defaults={"created_at": clock.now()})[0]
    Membership.objects.bulk_create(
        Membership(user=user, space=space, role="viewer", created_at=clock.now()) for user in users(many)
    )


def in_space(many: int) -> list[int]:
    """Numbers of as many spaces: each row in another one is the worst case."""
    names = (f"s{uuid.uuid4().hex[:12]}-{n}" for n in range(many))
    made = Space.objects.bulk_create(Space(name=name, created_at=clock.now()) for name in names)
    return [space.pk for space in made]


def grains(many: int) -> list[Grain]:
    return Grain.objects.bulk_create(
        Grain(space_id=pk, text="x", digest=uuid.uuid4().hex, origin="ai_stated", writer="x", recorded_at=clock.now())
        for pk in in_space(many)
    )


def entries(many: int) -> list[Entry]:
    return Entry.objects.bulk_create(Entry(space_id=pk, kind="name", feature="x") for pk in in_space(many))


def conduits(many: int) -> None:
    made = [
        *(Conduit(from_entry=one, space_id=one.space_id) for one in entries(many // 2)),
        *(Conduit(from_grain=one, space_id=one.space_id) for one in grains(many - many // 2)),
    ]
    for one, grain in zip(made, grains(many), strict=True):
        one.to_grain, one.weight, one.made_at, one.used_at = grain, 0.5, 1_700_000_000, 1_700_000_000
    Conduit.objects.bulk_create(made)


def votes(many: int) -> None:
    made = grains(many)
    judged = JudgedQuestion.objects.bulk_create(
        JudgedQuestion(
            uuid=uuid.uuid4(), space_id=one.space_id, actor="agent:x", asked_at=clock.now(), query="x", terms=b""
        )
        for one in made
    )
    Vote.objects.bulk_create(
        Vote(space_id=one.space_id, judged=question, grain=one, useful=True, strength=1, scale=1, at=clock.now())
        for question, one in zip(judged, made, strict=True)
    )


def namespaces(many: int) -> list[Namespace]:
    moment_of_expiry.begin()
    return Namespace.objects.bulk_create(
        Namespace(space_id=pk, kind="board", name=f"b{number}", created_at=clock.now(), created_by="x")
        for number, pk in enumerate(in_space(many))
    )


def clusters(many: int) -> list[tuple[Cluster, Grain]]:
    made = grains(many)
    found = Cluster.objects.bulk_create(
        Cluster(space_id=one.space_id, layer=0, name="x", made_at=clock.now(), changed_at=clock.now()) for one in made
    )
    return list(zip(found, made, strict=True))


FILL: dict[str, Callable[[int], Any]] = {
    "accounts.space": in_space,
    "accounts.agent": agents,
    "accounts.token": lambda many: Token.objects.bulk_create(
        Token(agent=agent, prefix=f"{n:08}", digest="x", ceiling="ai_stated", created_at=clock.now())
        for n, agent in enumerate(agents(many))
    ),
    "accounts.grant": lambda many: Grant.objects.bulk_create(
        Grant(agent=agent, capability="grains.read", granted_by="x", granted_at=clock.now()) for agent in agents(many)
    ),
    "accounts.grantrequest": lambda many: GrantRequest.objects.bulk_create(
        GrantRequest(agent=agent, capability="grains.read", asked_at=clock.now()) for agent in agents(many)
    ),
    "accounts.user": memberships,
    "accounts.membership": memberships,
    "accounts.session": lambda many: Session.objects.bulk_create(
        Session(
            session_key=f"{n:064}",
            session_data="",
            expire_date=clock.now(),
            user=user,
            created_at=clock.now(),
            seen_at=moment(n),
        )
        for n, user in enumerate(users(many))
    ),
    "accounts.enrolment": lambda many: Enrolment.objects.bulk_create(
        Enrolment(user=user, digest=f"{n:064}", created_at=clock.now(), expires_at=clock.now())
        for n, user in enumerate(users(many))
    ),
    "accounts.guesscount": lambda many: GuessCount.objects.bulk_create(
        GuessCount(key=f"code:{user.pk}", last_at=clock.now(), day_from=clock.now()) for user in users(many)
    ),
    "accounts.refusalminute": lambda many: RefusalMinute.objects.bulk_create(
        RefusalMinute(source="192.0.2.1", minute=moment(n)) for n in range(many)
    ),
    "accounts.auditentry": lambda many: AuditEntry.objects.bulk_create(
        AuditEntry(
            chain=Space.objects.get(pk=pk).uuid.hex,
            seq=1,
            at=clock.now(),
            actor="agent:x",
            action="x",
            object="x",
            outcome="refused",
            prev="",
            hash="",
        )
        for pk in in_space(many)
    ),
    "fluxcore.job": lambda many: Job.objects.bulk_create(
        Job(kind="x", space=pk, due_at=clock.now(), created_at=clock.now()) for pk in in_space(many)
    ),
    "fluxcore.event": lambda many: Event.objects.bulk_create(
        Event(kind="x", space=pk, at=clock.now(), actor="x", subject="x") for pk in in_space(many)
    ),
    "grains.grain": grains,
    "grains.entry": entries,
    "grains.conduit": conduits,
    "grains.vector": lambda many: Vector.objects.bulk_create(
        Vector(space_id=one.space_id, grain=one, encoder="x", dimension=1, scale=1.0, data=b"x") for one in grains(many)
    ),
    "grains.trace": lambda many: Trace.objects.bulk_create(
        Trace(
            space_id=pk, actor="agent:x", at=clock.now(), query="x", rung="warm", confidence=0.5, hop_count=0, body="{}"
        )
        for pk in in_space(many)
    ),
    "grains.vote": votes,
    "grains.transition": lambda many: Transition.objects.bulk_create(
        Transition(
            space_id=one.space_id,
            grain=one,
            before="active",
            after="dormant",
            why="faded",
            actor="worker",
            at=clock.now(),
            lived=0,
        )
        for one in grains(many)
    ),
    "grains.tombstone": lambda many: Tombstone.objects.bulk_create(
        Tombstone(
            space_id=pk,
            uuid=uuid.uuid4(),
            origin="x",
            recorded_at=clock.now(),
            purged_at=clock.now(),
            actor="worker",
            links=0,
            votes=0,
        )
        for pk in in_space(many)
    ),
    "grains.removal": lambda many: Removal.objects.bulk_create(
        Removal(
            space_id=pk,
            digest=uuid.uuid4().hex,
            status="quarantined",
            authority=2,
            actor="user:x",
            at=clock.now(),
            lived=0,
        )
        for pk in in_space(many)
    ),
    "grains.cluster": clusters,
    "grains.member": lambda many: Member.objects.bulk_create(
        Member(space_id=grain.space_id, cluster=one, grain=grain) for one, grain in clusters(many)
    ),
    "grains.clusteruse": lambda many: ClusterUse.objects.bulk_create(
        ClusterUse(space_id=grain.space_id, cluster=one, grain=grain, weight=1, at=clock.now())
        for one, grain in clusters(many)
    ),
    "artifacts.store": lambda many: stores(many),
    "artifacts.file": lambda many: File.objects.bulk_create(
        File(
            store=one, path="x", version=1, sha="x", size=1, created_at=clock.now(), written_at=clock.now(), writer="x"
        )
        for one in stores(many)
    ),
    "artifacts.filechange": lambda many: FileChange.objects.bulk_create(
        FileChange(store=one, path="x", op="create", outcome="done", listed=True, at=clock.now(), principal="x")
        for one in stores(many)
    ),
    "artifacts.message": lambda many: Message.objects.bulk_create(
        Message(store=one, seq=1, body="{}", size=2, origin="ai_stated", at=clock.now(), writer="x")
        for one in stores(many)
    ),
    "keyvalue.namespace": lambda many: namespaces(many),
    "keyvalue.item": lambda many: Item.objects.bulk_create(
        Item(namespace=one, key="k", value="1", version=1, sha="x", size=1, written_at=clock.now(), writer="agent:x")
        for one in namespaces(many)
    ),
    "keyvalue.lock": lambda many: Lock.objects.bulk_create(
        Lock(board=one, name="l", token=1, holder="agent:x", expires=1.0, acquired_at=clock.now())
        for one in namespaces(many)
    ),
    "keyvalue.task": lambda many: Task.objects.bulk_create(
        Task(board=one, queue="q", value="1", size=1, added_at=clock.now(), added_by="agent:x")
        for one in namespaces(many)
    ),
    "review.reviewitem": lambda many: ReviewItem.objects.bulk_create(
        ReviewItem(
            space_id=pk,
            kind="proposal",
            container="1",
            subject=f"a{number}.md",
            authors="\nagent:x\n",
            created_at=clock.now(),
            updated_at=clock.now(),
        )
        for number, pk in enumerate(in_space(many))
    ),
    "health.warning": lambda many: Warning.objects.bulk_create(
        Warning(space_id=pk, signal="orphan_rate", severity="INFO", times=1, raised_at=clock.now(), seen_at=clock.now())
        for pk in in_space(many)
    ),
}


def stores(many: int) -> list[Store]:
    by = {"project": "default", "domain": "default", "key": "x", "created_at": clock.now(), "created_by": "agent:x"}
    return Store.objects.bulk_create(Store(space_id=pk, **by) for pk in in_space(many))


def counted(client: Any, path: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(path)
        assert answer.status_code == 200
        answer.content  # noqa: B018  rendered by now
    return len([query for query in captured if not query["sql"].startswith(_TRANSACTION)])


def looking(ada: Any) -> Any:
    """Signed in, and the greeting of the sign-in has been read."""
    client = ada.sign_in()
    client.get("/admin/")
    return client


def test_every_list_is_counted():
    assert set(FILL) == set(pages()) and set(json.loads(CHECKED_IN.read_text())) == {*FILL, "index"}


@pytest.mark.parametrize("page", FILL)
def test_a_list_costs_as_many_statements_as_written_down_however_long_it_is(ada, page):
    client = looking(ada)
    known = json.loads(CHECKED_IN.read_text())[page]
    found = {}
    for many in (0, 1, 500):
        with transaction.atomic():
            FILL[page](many)
            found[str(many)] = counted(client, list_of(page))
            transaction.set_rollback(True)
    assert found == known, f"{page}: {found}"
    assert max(found.values()) <= MOST


def test_the_index_costs_as_many_statements_as_written_down(ada):
    client = looking(ada)
    found = {"0": counted(client, "/admin/")}
    agents(500)
    in_space(500)
    found["500"] = counted(client, "/admin/")
    assert found == json.loads(CHECKED_IN.read_text())["index"]
