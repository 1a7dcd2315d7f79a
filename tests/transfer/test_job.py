"""An import that a person asked for: laid down in pieces, taken by a job, killed and gone on with, forgotten later."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from accounts import roles, tokens
from accounts.models import Membership, User
from fluxcore import clock
from fluxcore.errors import Forbidden, Invalid, StepUpRequired
from fluxcore.models import Job
from fluxcore.work import worker
from memory.grains.models import Conduit, Grain
from memory.transfer import formats, import_job, import_requests, importer
from memory.transfer import jobs as transfer_jobs
from memory.transfer.models import Import, ImportPiece


@pytest.fixture
def ada(space):
    user = User.objects.create(username="ada")
    Membership.objects.create(user=user, space=space, role="owner", created_at=clock.now())
    return roles.person_principal(user, fresh=True, space=space, role="owner")


@pytest.fixture
def begin(ada, monkeypatch):
    monkeypatch.setattr(importer, "AT_ONCE", 2)

    def call(path, who=ada, **how):
        given = {"provenance": None, "ceiling": "user_stated", **how}
        return import_requests.begin(who, source=formats.read(path), **given)

    return call


def test_the_job_takes_it_and_says_what_became_of_each(begin, ada, vault):
    made = begin(vault)
    assert (made["items"], made["links"], Grain.objects.count()) == (4, 2, 0)
    assert Import.objects.get().percent == 0
    worker.drain()
    one = Import.objects.get()
    assert (one.done, one.stored, one.links, one.refused, one.percent) == (6, 4, 2, 0, 100)
    assert one.finished_at and Job.objects.get(uuid=one.job).state == "done"
    assert set(Grain.objects.values_list("writer", flat=True)) == {"user:ada"}
    assert Conduit.objects.filter(use_count=1).count() == 2
    assert [piece.items for piece in ImportPiece.objects.all()] == [[]] * 3  # the texts are held once, as grains


def test_what_is_refused_is_told(begin, ada, tmp_path):
    path = tmp_path / "x.jsonl"
    rows = [{"flux_export": 1}, {"grain": {"content": "good"}}, {"grain": {"content": ""}}, "nonsense"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = begin(path)
    worker.drain()
    found = import_requests.report(ada, made["id"], most=10)
    assert [(one["place"], one["code"]) for one in found] == [("line 3", "invalid"), ("line 4", "invalid")]
    assert Import.objects.get().refused == 2


@pytest.mark.parametrize(
    "bad",
    [
        '{"content": "a", "confidence": NaN}',
        '{"content": "a", "confidence": 1e999}',
        '{"content": "a\\u0000b"}',
        '{"content": "a\\ud800"}',
        '{"content": "a", "id": "\\u0000"}',
    ],
)
def test_what_no_column_can_hold_costs_itself_alone(begin, ada, tmp_path, bad):
    path = tmp_path / "x.jsonl"
    path.write_text(f'{{"flux_export": 1}}\n{{"grain": {{"content": "good \\\\\\\\u0000"}}}}\n{{"grain": {bad}}}\n')
    made = begin(path)
    worker.drain()
    one = Import.objects.get()
    assert (one.stored, one.refused, one.percent) == (1, 1, 100)
    assert [told["place"] for told in import_requests.report(ada, made["id"], most=10)] == ["line 3"]


@pytest.mark.parametrize("lost", ["membership", "role", "account"])
def test_a_right_that_was_lost_meanwhile_ends_the_import(begin, ada, vault, lost):
    made = begin(vault)
    if lost == "membership":
        Membership.objects.all().delete()
    elif lost == "role":
        Membership.objects.update(role="viewer")
    else:
        User.objects.update(is_active=False)
    worker.drain()
    one = Import.objects.get()
    assert (Grain.objects.count(), one.stored, one.refused, one.percent) == (0, 0, 6, 100)
    assert {told["code"] for told in import_requests.report(ada, made["id"], most=10)} == {"forbidden"}


def test_a_worker_that_dies_in_between_leaves_whole_pieces(begin, vault, monkeypatch):
    begin(vault)
    real, taken = import_job.import_grains, []

    def dies(some, take):
        taken.append(len(some))
        if len(taken) == 2:
            raise RuntimeError("killed")
        return real(some, take)

    monkeypatch.setattr(import_job, "import_grains", dies)
    worker.run_one()
    assert (Grain.objects.count(), Import.objects.get().done) == (2, 2)
    assert Job.objects.get(kind="transfer.import").state == "queued"
    monkeypatch.setattr(import_job, "import_grains", real)
    Job.objects.update(due_at=clock.now())
    worker.drain()
    one = Import.objects.get()
    assert (Grain.objects.count(), one.done, one.stored, one.links) == (4, 6, 4, 2)


def test_the_ceiling_that_was_chosen_holds(begin, seed):
    begin(seed, ceiling="external_source", provenance="user_stated")
    worker.drain()
    assert set(Grain.objects.values_list("origin", flat=True)) == {"external_source"}
    assert Import.objects.get().capped == 3


@pytest.mark.parametrize("role, error", [("viewer", Forbidden), ("operator", Forbidden)])
def test_it_is_the_owners_to_import(begin, ada, vault, role, error):
    with pytest.raises(error):
        begin(vault, replace(ada, role=role))


def test_it_wants_a_fresh_code(begin, ada, vault):
    with pytest.raises(StepUpRequired):
        begin(vault, replace(ada, fresh=False))


def test_no_token_can_ask_for_it(begin, make_token, vault):
    with pytest.raises(Forbidden):
        begin(vault, tokens.authenticate(make_token(capabilities=("grains.write", "graph.export"))))
    assert Import.objects.count() == 0


def test_nothing_to_import_is_refused_at_once(begin, tmp_path):
    path = tmp_path / "empty.txt"
    path.write_text(" \n")
    with pytest.raises(Invalid, match="nothing to import"):
        begin(path)


def test_too_much_is_sent_to_the_shell(begin, vault, monkeypatch):
    monkeypatch.setattr(import_requests, "MOST", 3)
    with pytest.raises(Invalid, match=r"flux_import PATH .*has no size limit"):
        begin(vault)
    assert Import.objects.count() == ImportPiece.objects.count() == 0


def test_after_a_month_it_is_forgotten_and_its_grains_stay(begin, vault):
    begin(vault)
    worker.drain()
    Import.objects.update(finished_at=clock.now() - transfer_jobs.KEPT - timedelta(minutes=1))
    transfer_jobs.forget_old()
    assert Import.objects.count() == ImportPiece.objects.count() == 0
    assert Grain.objects.count() == 4
