"""Registrations: every model is in the admin, every kind of job has a task."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib import admin
from django.utils.module_loading import import_string

from fluxcore.work import kinds, sweep

OURS = ("fluxsite", "fluxcore", "accounts", "memory", "dashboard", "mcp_bridge", "flux")
# Models that are not in the admin, each with its reason.
WITHOUT_A_PAGE = {
    "accounts.Authenticator": "a sealed key; whether a person has one stands on their page",
    "accounts.BackupCode": "digests of codes; how many are left stands under the person's own account",
    "artifacts.Content": "bytes under their digest; the pages of files show those they refer to",
    "artifacts.StoreUsage": "sums over the stores of a space; the pages of stores show their parts",
    "extraction.AgentSpend": "what an agent spent on the model; the Agents page and flux_status say it",
    "extraction.DerivedGrain": "which words a statement rests on; the grain's page shows its lineage",
    "extraction.Extraction": "texts that wait for the model; the Agents page and flux_status count them",
    "extraction.ModelServer": "how the model is; the Agents page and flux_status say it",
    "extraction.ModelSpend": "what a space spent on the model; the Agents page and flux_status say it",
    "fluxcore.JobLine": "lines of a job's log, on the page of the job",
    "fluxcore.IdempotencyKey": "short-lived answers of the core; nothing to see or change",
    "fluxcore.LimitWindow": "counters of one minute; nothing to see or change",
    "fluxcore.UptimeClock": "one row of uptime; flux_status says what follows from it",
    "fluxcore.ScheduleState": "when a recurring job was last asked for; flux_jobs schedule lists it",
    "passages.GrainSource": "where a passage or message is from; results of recall lead there",
    "passages.IndexedTranscript": "how far a job has read; nothing to see or change",
    "keyvalue.Revision": "an earlier version of a key, on the page of the key",
    "keyvalue.VersionFloor": "one number for the deleted boards of a space; nothing to see or change",
    "keyvalue.WatchLimit": "one row: the oldest position that can be watched from",
    "keyvalue.ExpiryClock": "offset of the clock of expiry from the machine's; nothing to see or change",
    "transfer.Import": "has a page of its own, where one is asked for and followed",
    "transfer.ImportPiece": "what of an import waits; what became of it stands on the page of the import",
    "grains.GrainUsage": "sums by writer; the Agents page and flux_status show them",
    "grains.Cursor": "how far a job has read; nothing to see or change",
    "grains.LastRecall": "when a grain was last recalled; its page lists the recalls",
    "health.LogPosition": "one row: how far the event log has been counted",
    "health.HourlySum": "sums by the hour, shown as signals on the Vitals page",
    "health.CountedQuestion": "what was counted of a judged question; its votes have pages",
    "health.SpaceHealth": "the last measurement of a space, shown on the Vitals page",
    "health.Reading": "points of the lines on the Vitals page",
    "grains.JudgedQuestion": "a question with votes on its answer; each vote's page shows it",
    "grains.SpaceRankerWeights": "how far a space's weights lie from the shipped ones; flux_learning lists the steps",
    "grains.VoteEffect": "what one vote did to one link, on the page of the vote",
    "grains.ClusterUseVote": "what one vote adds to a touch, on the page of the touch",
    "grains.Clustering": "when a space was last clustered; flux_clusters says it",
    "grains.ContextShift": "whether recall looks wider for now; its event says so",
    "grains.UsefulPair": "how often two grains were useful together; the link made from it has a page",
    "passages.ValueSource": "which key a recalled value is from, in its citation",
    "grains.TraceGrain": "which grains a recall returned, on the pages of the grain and of the recall",
}


def our_apps():
    return [config for config in apps.get_app_configs() if config.name.split(".")[0] in OURS]


def our_models():
    return {
        f"{model._meta.app_label}.{model.__name__}": model for config in our_apps() for model in config.get_models()
    }


def test_every_model_is_in_the_admin_or_on_the_list():
    admin.autodiscover()
    registered = {name for name, model in our_models().items() if admin.site.is_registered(model)}
    assert set(our_models()) == registered | set(WITHOUT_A_PAGE)
    assert registered & set(WITHOUT_A_PAGE) == set(), "take what has a page off the list"


@pytest.mark.parametrize("reason", sorted(set(WITHOUT_A_PAGE.values())))
def test_every_exception_has_a_reason(reason):
    assert len(reason) > 10


def test_every_kind_of_job_is_a_task_of_its_name_in_its_queue():
    from fluxsite.celery import SWEEP, app

    app.loader.import_default_modules()
    named = {name for name in app.tasks if not name.startswith("celery.")}
    assert named == {kind.name for kind in kinds.every_kind()} | {SWEEP}
    for kind in kinds.every_kind():
        assert app.amqp.router.route({}, kind.name)["queue"].name == kind.queue
    assert {kind.queue for kind in kinds.every_kind()} == set(kinds.QUEUES) == set(app.amqp.queues)


def test_every_jobs_module_is_found():
    """Also those of packages that are no apps: one that nobody imports would declare nothing."""
    root = Path(__file__).resolve().parents[2]
    written = {".".join(path.relative_to(root).with_suffix("").parts) for path in (root / "memory").rglob("jobs.py")}
    assert written
    assert written <= set(sys.modules)


@pytest.mark.parametrize("kind", kinds.every_kind(), ids=lambda kind: kind.name)
def test_the_work_of_every_kind_is_where_its_declaration_says(kind):
    assert callable(kind.handler())
    assert isinstance(kind.work, str), "a declaration names its work, and does not load it"


@pytest.mark.parametrize("path", [one for one in sweep._housekeeping if isinstance(one, str)])
def test_housekeeping_named_by_its_path_is_there(path):
    assert callable(import_string(path))


def test_every_app_has_a_name_for_people():
    for config in our_apps():
        assert str(config.verbose_name)
        assert config.path
