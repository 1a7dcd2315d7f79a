"""Fixture: two spaces with rows of every kind, and one person of each role."""

from __future__ import annotations

import copy
import json
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client

from accounts import agents, grants, tokens
from accounts.authorise import authorise
from accounts.capabilities import parsed
from accounts.models import (
    Agent,
    AuditEntry,
    Enrolment,
    Grant,
    GrantRequest,
    GuessCount,
    Membership,
    RefusalMinute,
    Session,
    Space,
    Token,
)
from accounts.principals import shell
from accounts.signin import lockout
from fluxcore import clock
from fluxcore.errors import Forbidden
from fluxcore.models import Event, Job, JobLine
from fluxsite.home import DataHome
from memory.artifacts import files, stores, transcripts
from memory.artifacts.contents import NewContent
from memory.artifacts.models import File, FileChange, Message, Store
from memory.grains.models import (
    Cluster,
    ClusterUse,
    ClusterUseVote,
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
from memory.grains.store import store
from memory.health.models import Warning
from memory.keyvalue import locks, verbs
from memory.keyvalue.models import Item, Lock, Namespace, Task
from memory.recall.trace_record import pack_trace
from memory.review.models import ReviewItem
from tests.admin.snapshots import Snapshot
from tests.dashboard.conftest import Person, browser

# The people's door and its people, as the dashboard's tests have them.
from tests.dashboard import conftest as door  # isort: skip

people_client, person, ada = door.people_client, door.person, door.ada
static_files_found_once = door.static_files_found_once

admin.autodiscover()

# From the least to the most; everybody but ada, the administrator, has their role in the space `home` alone.
ROLES = ["viewer", "operator", "owner", "administrator"]
_snapshot: Snapshot | None = None


@dataclass
class AdminSpaces:
    """Rows by page and space, and people by role."""

    people: dict[str, Person]
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    _clients: dict[str, Client] = field(default_factory=dict)

    def client(self, role: str) -> Client:
        if role not in self._clients:
            self._clients[role] = self.people[role].sign_in()
        return self._clients[role]

    def __deepcopy__(self, memo: dict[int, Any]) -> AdminSpaces:
        """With browsers of their own that have the same cookies."""
        clients = {}
        for role, client in self._clients.items():
            clients[role] = browser()
            clients[role].cookies = copy.deepcopy(client.cookies, memo)
        return AdminSpaces(copy.deepcopy(self.people, memo), copy.deepcopy(self.rows, memo), clients)

    def row(self, page: str, space: str = "home") -> Any:
        return self.rows[page][space]

    def address(self, page: str, space: str = "home", act: str = "") -> str:
        app, model = page.split(".")
        return f"/admin/{app}/{model}/{self.row(page, space).pk}/{f'do/{act}/' if act else 'change/'}"


def list_of(page: str) -> str:
    app, model = page.split(".")
    return f"/admin/{app}/{model}/"


def pages() -> dict[str, Any]:
    return {f"{model._meta.app_label}.{model._meta.model_name}": page for model, page in admin.site._registry.items()}


def stale(client: Client) -> Client:
    """As if the code had been given an hour ago."""
    session = client.session
    session.pop("fresh_at", None)
    session.save()
    return client


def words(answer: Any) -> str:
    """What a page says, without its frame and its tags."""
    body = answer.content.decode()
    found = re.search(r'<div id="content".*', body, re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found.group() if found else body))


def entries(action: str, **fields: Any) -> list[Any]:
    return list(AuditEntry.objects.filter(action=action, **fields).order_by("id"))


def details(entry: Any) -> dict[str, Any]:
    return dict(json.loads(entry.details))


@pytest.fixture
def house(person: Callable[..., Person], make_token: Callable[..., str]) -> AdminSpaces:
    """As it was built for the first test that asked, with everybody signed in."""
    global _snapshot
    if _snapshot is not None and _snapshot.fresh:
        return _snapshot.put_back()
    _snapshot = Snapshot(lambda: _build(person, make_token))
    return copy.deepcopy(_snapshot.built)


def _build(person: Callable[..., Person], make_token: Callable[..., str]) -> AdminSpaces:
    rows: dict[str, dict[str, Any]] = {}
    for space, name in (("home", "alice"), ("office", "bob")):
        token = make_token(name, space=space, capabilities=("grains.read", "grains.write"), trust="trusted")
        agents.create_agent(shell(), space=space, name=f"{name}-idle", capabilities=[])
        caller = tokens.authenticate(token)
        store(caller, content=f"The secret of the {space} is under the mat")
        grants.give(shell(), space=space, agent=name, capability=f"bb.read:{space}/*")
        grants.request(caller, capability=f"memory.write:{space}/*", reason=f"notes of the {space}")
        with pytest.raises(Forbidden):
            _refused(caller)
        caller_row = Agent.objects.get(name=name)
        number = caller_row.space_id
        moment = clock.now()
        job = Job.objects.create(
            space=number,
            kind=f"{space}.tidy",
            state="parked",
            error=f"the {space} is untidy",
            due_at=moment,
            created_at=moment,
        )
        JobLine.objects.create(job=job, at=moment, text=f"looked under the bed of the {space}")
        found = {
            "accounts.space": Space.objects.get(name=space),
            "accounts.agent": caller_row,
            "accounts.token": Token.objects.get(agent__name=name),
            "accounts.grant": Grant.objects.get(agent__name=name),
            "accounts.grantrequest": GrantRequest.objects.get(agent__name=name),
            "accounts.auditentry": AuditEntry.objects.filter(actor=f"agent:{name}", outcome="refused").get(),
            "fluxcore.job": job,
            "fluxcore.event": Event.objects.filter(space=number, kind="grain.stored").get(),
            "grains.grain": Grain.objects.get(space=number),
            **_graph(Grain.objects.get(space=number), space, f"agent:{name}"),
        }
        for page, row in found.items():
            rows.setdefault(page, {})[space] = row
    kinds = {role: person(f"{role}-of-home", administrator=False, roles={"home": role}) for role in ROLES[:3]}
    house = AdminSpaces({**kinds, "administrator": person("ada")}, rows)
    out = person("olaf", administrator=False, roles={"office": "owner"})
    vera = person("vera", administrator=False, roles={"home": "viewer"})
    rows["accounts.user"] = {"home": vera.user, "office": out.user}
    rows["accounts.membership"] = {
        "home": Membership.objects.get(user=vera.user),
        "office": Membership.objects.get(user=out.user),
    }
    moment = clock.now()
    # These belong to the instance as a whole.
    alone = {
        "accounts.session": Session.objects.create(
            session_key="f" * 64,
            session_data="",
            expire_date=moment + timedelta(hours=1),
            user=vera.user,
            created_at=moment,
            seen_at=moment,
            source="192.0.2.7",
            browser="Lynx",
        ),
        "accounts.enrolment": Enrolment.objects.create(
            digest="0" * 64, purpose="account", user=out.user, created_at=moment, expires_at=moment + timedelta(days=1)
        ),
        "accounts.guesscount": GuessCount.objects.create(
            key=lockout.password_key("olaf"), count=10, last_at=moment, day_count=10, day_from=moment
        ),
        "accounts.refusalminute": RefusalMinute.objects.create(source="192.0.2.9", minute=moment, count=4),
    }
    for page, row in alone.items():
        rows[page] = {"home": row, "office": row}
    for role in ROLES:
        house.client(role)
    return house


def _graph(grain: Grain, space: str, actor: str) -> dict[str, Any]:
    """What hangs on a grain: an entry and its conduit, a vector, the receipt of a recall that returned it."""
    moment = clock.now()
    entry = Entry.objects.create(space=grain.space, kind="name", feature=f"{space} mat")
    answer = {
        "id": str(grain.uuid),
        "score": 0.8,
        "source": "words",
        "parts": {"words": 0.7, "correction": -0.1},
        "matched": [[0, 2.5]],
        "same": 0,
        "path": [
            {
                "conduit": 1,
                "from_entry": "name:mat",
                "to_grain": str(grain.uuid),
                "relation": 0,
                "signal": 0.4,
                "weight": 0.5,
                "hop": 1,
            },
        ],
    }
    body = {
        "features": ["mat"],
        "terms": ["mat"],
        "k": 5,
        "bounds": {"tags": ["t"]},
        "weights": {},
        "caps": [],
        "fallback": False,
        "grains": [answer],
    }
    judged = JudgedQuestion.objects.create(
        uuid=uuid.uuid4(),
        space=grain.space,
        actor=actor,
        asked_at=moment,
        query=f"What did the {space} say?",
        terms=b"",
    )
    cluster = Cluster.objects.create(
        space=grain.space, layer=0, name=f"{space}, mat", size=1, made_at=moment, changed_at=moment
    )
    vote = Vote.objects.create(
        space=grain.space, judged=judged, grain=grain, useful=True, strength=1.0, scale=1.0, at=moment
    )
    ClusterUseVote.objects.create(space=grain.space, vote=vote, grain=grain, cluster=cluster, amount=1 << 31)
    return {
        "grains.transition": Transition.objects.create(
            space=grain.space,
            grain=grain,
            before="dormant",
            after="active",
            why="by hand",
            numbers={"days": 3},
            actor=actor,
            reason=f"the {space} needs it",
            at=moment,
            lived=0,
        ),
        "grains.tombstone": Tombstone.objects.create(
            space=grain.space,
            uuid=uuid.uuid4(),
            origin="ai_stated",
            recorded_at=moment,
            purged_at=moment,
            actor=f"user:{space}",
            links=3,
            votes=1,
        ),
        "grains.removal": Removal.objects.create(
            space=grain.space,
            digest="d" * 64,
            status="quarantined",
            authority=2,
            actor=f"user:{space}",
            at=moment,
            lived=0,
            repeats=2,
            repeated_at=moment,
            repeated_by=actor,
        ),
        "grains.vote": vote,
        "grains.cluster": cluster,
        "grains.member": Member.objects.create(space=grain.space, cluster=cluster, grain=grain, weight=0.75),
        "grains.clusteruse": ClusterUse.objects.create(
            space=grain.space, cluster=cluster, grain=grain, weight=0.5, at=moment
        ),
        "health.warning": Warning.objects.create(
            space=grain.space,
            signal=f"{space}_rate",
            severity="WARNING",
            value=0.4,
            high=0.2,
            times=1,
            raised_at=moment,
            seen_at=moment,
        ),
        **_exact(grain.space, space, actor),
        "review.reviewitem": _proposed(grain.space, space),
        **_stored(grain.space, space),
        "grains.entry": entry,
        "grains.conduit": Conduit.objects.create(
            space=grain.space,
            from_entry=entry,
            to_grain=grain,
            weight=0.5,
            made_at=int(moment.timestamp()),
            used_at=int(moment.timestamp()),
        ),
        "grains.vector": Vector.objects.create(
            space=grain.space, grain=grain, encoder="hashed", dimension=4, scale=1.0, data=b"four"
        ),
        "grains.trace": Trace.objects.create(
            space=grain.space,
            actor=actor,
            at=moment,
            query=f"What lies under the mat of the {space}?",
            rung="warm",
            confidence=0.8,
            hop_count=1,
            body=pack_trace(body),
        ),
    }


def _exact(space: Space, name: str, actor: str) -> dict[str, Any]:
    """A board with a key that was written twice, a lock that is held and a task that waits."""
    moment_, held = clock.now(), shell(space)
    for value in ("first", "second"):
        verbs.set_key(held, place="boards/main", key=f"{name}/key", value=f"{value} of {name}")
    locks.acquire(held, lock=f"{name}-lock", ttl_secs=10_000)
    board = Namespace.objects.get(space=space, name="main")
    Lock.objects.filter(board=board).update(holder=actor, acquired_at=moment_)
    task = Task.objects.create(board=board, queue=f"{name}-work", value="1", size=1, added_at=moment_, added_by=actor)
    return {
        "keyvalue.namespace": board,
        "keyvalue.item": Item.objects.get(namespace=board),
        "keyvalue.lock": Lock.objects.get(board=board),
        "keyvalue.task": task,
    }


def _proposed(space: Space, name: str) -> ReviewItem:
    """A change of a file of a store that an agent proposes."""
    held = shell(space)
    stores.create_store(held, key=f"{name}-rules", staging_prefix="proposals")
    agent = replace(held, kind="agent", name=f"{name}-writer", capabilities=parsed(("artifacts.write",)))
    content = NewContent.of(f"The key of the {name} is under the mat\n".encode())
    answer = files.put_file(agent, store=f"{name}-rules", path="proposals/key.md", content=content)
    return ReviewItem.objects.get(uuid=answer["proposal"])


def _stored(space: Space, name: str) -> dict[str, Any]:
    """A store with a file that was written twice, and a message."""
    key, path, me = f"{name}-store", f"{name}/plan.md", shell(space)
    stores.create_store(me, key=key)
    for text in ("first", "second"):
        files.write_file(me, store=key, path=path, text=f"{text} of the {name}")
    transcripts.append_messages(me, store=key, messages=[{"role": "user", "content": f"Hello {name}"}])
    store = Store.objects.get(key=key)
    return {
        "artifacts.store": store,
        "artifacts.file": File.objects.get(store=store),
        "artifacts.filechange": FileChange.objects.filter(store=store).latest("id"),
        "artifacts.message": Message.objects.get(store=store),
    }


def _refused(caller: Any) -> None:
    authorise(caller, "memory.write", "notes/today", action="memory.set")


@pytest.fixture
def own_home(settings: Any, tmp_path: Path) -> DataHome:
    """A data home of the test's own, so that its checkpoints are about its chains."""
    home = DataHome("own", tmp_path / "own")
    home.keys.mkdir(parents=True)
    settings.HOME = home
    return home
