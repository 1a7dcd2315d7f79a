"""What all flux_* commands share: options in full, --name and --json on each, one JSON document for scripts"""

from __future__ import annotations

import json
import shutil
import uuid
from pathlib import Path

import pytest
from django.core.management import CommandError, load_command_class

import memory.management.commands
from accounts import grants, tokens
from accounts.models import Space
from fluxcore import clock
from fluxcore.work import jobs, kinds
from fluxcore.writes import booth
from fluxsite.home import DataHome, make_home
from memory.grains.models import Cluster, Grain, JudgedQuestion, Vote

pytestmark = pytest.mark.either_database  # what a command asks of a database, its own file asks on both

COMMANDS = sorted(path.stem for path in Path(memory.management.commands.__path__[0]).glob("flux_*.py"))

# Every action of every command, as it works and as it is refused. {} stands for what the fixture `things` made.
WORKS = [
    "flux_admin list",
    "flux_admin link",
    "flux_admin create ada --password-file {password} --no-totp",
    "flux_admin invite ada --administrator",
    "flux_admin role grace --space main --role owner",
    "flux_admin reset grace",
    "flux_admin unlock grace",
    "flux_admin stop grace",
    "flux_admin resume grace",
    "flux_agent list",
    "flux_agent show helper",
    "flux_agent create writer",
    "flux_agent apply {manifest}",
    "flux_agent rating helper required",
    "flux_agent tools helper",
    "flux_agent tools helper +extraction",
    "flux_mcp_config",
    "flux_mcp_config codex --dry-run --install cursor --config-file {nowhere}",
    "flux_clusters run",
    "flux_clusters list",
    "flux_clusters show {cluster}",
    "flux_eval",
    "flux_extract something",
    "flux_extract --again",
    "flux_health",
    "flux_agent trust helper untrusted",
    "flux_agent stop helper",
    "flux_agent resume helper",
    "flux_audit tail",
    "flux_audit verify",
    "flux_audit checkpoint",
    "flux_audit rotate-key",
    "flux_backup list",
    "flux_grant list",
    "flux_grant give helper metrics.read",
    "flux_grant revoke {grant}",
    "flux_grant requests",
    "flux_grant accept {request}",
    "flux_grant decline {request}",
    "flux_learning list",
    "flux_learning explain --trace {trace} --grain {grain}",
    "flux_learning undo --caller agent:nobody",
    "flux_grain show {grain}",
    "flux_grain archive {grain}",
    "flux_grain restore {grain}",
    "flux_grain quarantine {grain}",
    "flux_grain release {grain}",
    "flux_grain promote {grain}",
    "flux_grain demote {grain}",
    "flux_grain delete {grain}",
    "flux_grain undelete {grain}",
    "flux_grain purge {grain} --confirm {grain} --reason asked",
    "flux_jobs schedule",
    "flux_import {notes}",
    "flux_import {notes} --dry-run",
    "flux_export {export}",
    "flux_export {export} --format dot",
    "flux_files list",
    "flux_files create made",
    "flux_files show kept",
    "flux_files write kept b.md two --content-type text/markdown",
    "flux_files append kept a.md more",
    "flux_files put kept c.bin {notes} --expected-sha=",
    "flux_files get kept a.md {got}",
    "flux_files read kept a.md --first 1",
    "flux_files ls kept --recursive",
    "flux_files mv kept a.md c.md",
    "flux_files cp kept a.md d.md",
    "flux_files rm kept a.md",
    "flux_files history kept a.md",
    "flux_files diff kept a.md",
    "flux_files restore kept a.md 1",
    "flux_files search kept one",
    "flux_files passages kept a.md",
    "flux_files audit kept",
    "flux_files policy kept --max-versions 5",
    "flux_files delete kept",
    "flux_files undelete deleted",
    "flux_transcript say kept [{{}}]",
    "flux_transcript show kept",
    "flux_transcript pop kept",
    "flux_transcript clear kept",
    "flux_transcript undo kept {removal}",
    "flux_transcript passages kept 1",
    "flux_files export kept {exported}",
    "flux_files import {folder} --store brought",
    "flux_review list",
    "flux_review show {item}",
    "flux_review accept {item} {seen}",
    "flux_review deny {item} --reason no",
    "flux_init --no-input",
    "flux_jobs list",
    "flux_jobs show {waiting}",
    "flux_jobs run {parked}",
    "flux_jobs park {waiting}",
    "flux_jobs drain",
    "flux_recall anything",
    "flux_reembed --encoder hashed",
    "flux_space list",
    "flux_space create other",
    "flux_status",
    "flux_kv write helper a 1",
    "flux_kv read helper kept",
    "flux_kv cas helper kept 1 2",
    "flux_kv delete helper a",
    "flux_kv list helper",
    "flux_kv touch helper kept --ttl 9",
    "flux_kv incr helper kept 1",
    "flux_kv append helper l 1",
    "flux_kv patch helper o {{}}",
    "flux_kv history helper kept",
    "flux_kv restore helper kept 1",
    "flux_kv purge helper kept --confirm kept",
    "flux_kv recallable helper",
    "flux_kv make-recallable helper --prefix notes/",
    "flux_kv end-recallable helper",
    "flux_kv passages helper kept",
    "flux_board write a 1",
    "flux_board read kept",
    "flux_board cas b null 2",
    "flux_board delete a",
    "flux_board list",
    "flux_board touch kept --ttl 9",
    "flux_board incr kept 1",
    "flux_board append l 1",
    "flux_board patch o {{}}",
    "flux_board history kept",
    "flux_board restore kept 1",
    "flux_board purge kept --confirm kept",
    "flux_board recallable",
    "flux_board make-recallable",
    "flux_board end-recallable",
    "flux_board passages kept",
    "flux_board boards",
    "flux_board make ops",
    "flux_board remove spare",
    "flux_board locks",
    "flux_board lock mine",
    "flux_board renew held {lock}",
    "flux_board unlock held {lock}",
    "flux_board break held",
    "flux_board queues",
    "flux_board add work 1",
    "flux_board claim work",
    "flux_board done claimed {task} 1",
    "flux_stop",
    "flux_store something",
    "flux_token list",
    "flux_token mint helper",
    "flux_token revoke {prefix}",
]
REFUSED = [
    "flux_admin create",
    "flux_admin create ada",
    "flux_admin create ada --password-file {nowhere}",
    "flux_admin invite grace --space main --role viewer",
    "flux_admin invite ada",
    "flux_admin role grace",
    "flux_admin role grace --space nowhere",
    "flux_admin reset nobody",
    "flux_admin unlock nobody",
    "flux_admin stop nobody",
    "flux_agent show nobody",
    "flux_agent create",
    "flux_agent create Helper",
    "flux_agent apply {nowhere}",
    "flux_agent tools helper banana",
    "flux_mcp_config --config-file {nowhere}",
    "flux_mcp_config --install cursor --config-file {password} --yes",
    "flux_mcp_config --agent Nobody!",
    "flux_agent rating helper",
    "flux_agent rating helper often",
    "flux_clusters show",
    "flux_clusters show banana",
    "flux_clusters list --space nowhere",
    "flux_eval --space nowhere",
    "flux_eval --sample 0",
    "flux_extract",
    "flux_extract x --again",
    "flux_health --space nowhere",
    "flux_health --acknowledge highway_count",
    "flux_agent stop nobody",
    "flux_agent resume nobody",
    "flux_agent trust helper",
    "flux_agent trust helper root",
    "flux_grant give",
    "flux_grant give nobody grains.read",
    "flux_grant give helper graph.export",
    "flux_grant revoke {request}",
    "flux_grant accept {grant}",
    "flux_grant decline banana",
    "flux_audit tail --space nowhere",
    "flux_audit verify --space nowhere",
    "flux_audit export --space nowhere",
    "flux_audit verify --checkpoints {nowhere}",
    "flux_audit verify --public-key {manifest}",
    "flux_bench speed many",
    "flux_backup create {nowhere}/b.tar.zst",
    "flux_backup verify",
    "flux_backup verify {nowhere}",
    "flux_backup verify {manifest}",
    "flux_backup restore {manifest} --confirm other",
    "flux_init --no-input --admin ada",
    "flux_init --no-input --token-file {nowhere}/token",
    "flux_jobs show banana",
    "flux_jobs run {waiting}",
    "flux_grain show",
    "flux_grain show banana",
    "flux_grain release {nowhere}",
    "flux_grain purge {grain}",
    "flux_grain purge {grain} --confirm banana",
    "flux_grain purge {grain} --confirm {grain}",
    "flux_learning undo",
    "flux_learning explain",
    "flux_learning list --space nowhere",
    "flux_import",
    "flux_import {nowhere}",
    "flux_import {notes} --space nowhere",
    "flux_import {notes} --chunk 1",
    "flux_import {notes} --report {nowhere}/r",
    "flux_import {notes} --format flux",
    "flux_export",
    "flux_export {nowhere}/x",
    "flux_export -",
    "flux_files show nowhere",
    "flux_files read kept nothing",
    "flux_files write kept ../a x",
    "flux_files write kept audit/a x",
    "flux_files create kept",
    "flux_files policy kept --max-versions 0",
    "flux_files put kept a.md {nowhere}",
    "flux_files put kept ../a {notes}",
    "flux_files get kept nothing -",
    "flux_files get kept a.md {nowhere}/x",
    "flux_files get kept a.md {got} --prefix x",
    "flux_transcript",
    "flux_transcript show nowhere",
    "flux_transcript say kept nothing",
    "flux_review show nowhere",
    "flux_review accept {item} nothing",
    "flux_review deny {item}",
    "flux_files export nowhere {exported}",
    "flux_files import {folder}",
    "flux_export {export} --space nowhere",
    "flux_export {export} --around {grain}",
    "flux_export {export} --format dot --around banana",
    "flux_export {export} --format dot --hops 9",
    "flux_jobs park {parked}",
    "flux_recall",
    "flux_recall x --space nowhere",
    "flux_reembed --encoder banana",
    "flux_reset --confirm other",
    "flux_space create",
    "flux_space create main",
    "flux_store",
    "flux_store x --space nowhere",
    "flux_kv write helper a",
    "flux_kv write helper a plain",
    "flux_kv read helper nothing",
    "flux_kv read nobody a",
    "flux_kv cas helper kept 9 1",
    "flux_kv cas helper kept x 1",
    "flux_kv list helper --as nobody",
    "flux_kv read helper kept --space nowhere",
    "flux_board cas kept null 1",
    "flux_board read nothing",
    "flux_board lock held",
    "flux_board unlock held 99",
    "flux_board make Ops",
    "flux_board read a --board nowhere",
    "flux_board done work banana 1",
    "flux_board done claimed {task} 1 --ttl 1",
    "flux_token mint",
    "flux_token mint nobody",
    "flux_token mint helper --days 0",
    "flux_token revoke flux_nothere1",
]
# These change a whole instance and need one to themselves.
ON_AN_INSTANCE = [
    "flux_init --no-input",
    "flux_backup create {file}",
    "flux_backup verify {file}",
    "flux_backup restore {file} --confirm test",
    "flux_reset --confirm test",
]
# By test_flux_bench.py: it takes as long as all of these together.
IN_A_FILE_OF_ITS_OWN = ["flux_mcp", "flux_bench speed 300"]
# Written for a file, an entry a line, with and without --json.
A_DOCUMENT_A_LINE = {"flux_audit export"}
# One process for all of them: its start would cost more than the command.
ONE_BY_ONE = """
import contextlib, io, json
from django.core.management import call_command
said = []
for line in {lines!r}:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        call_command(*line.split(), "--json")
    said.append(out.getvalue())
print(json.dumps(said))
"""


def _parser(name):
    return load_command_class("memory", name).create_parser("manage.py", name)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_a_name_and_json(name):
    assert {"--name", "--json"} <= set(_parser(name)._option_string_actions)


def test_an_option_is_not_abbreviated():
    """`--nam two` would be read here after the settings of the default instance were loaded."""
    parser = _parser("flux_status")
    parser.called_from_command_line = False
    with pytest.raises(CommandError, match="unrecognized"):
        parser.parse_args(["--nam", "two"])


@pytest.fixture
def things(run, tmp_path, request, settings):
    """Something of everything that can be named on a command line."""
    settings.HOME = DataHome("tests", tmp_path / "home")  # checkpoints stay in the home, the chains go with the test
    make_home(settings.HOME)
    kinds.job("test.good", lambda one: one.say("done"))
    request.addfinalizer(lambda: kinds.withdraw("test.good"))
    (tmp_path / "manifest.yaml").write_text("name: reader\nspec:\n  capabilities: [grains.read]\n")
    run("flux_space", "create", "main")
    run("flux_agent", "create", "helper")
    run("flux_admin", "invite", "grace", "--space", "main", "--role", "viewer")
    (tmp_path / "notes.md").write_text("# A note\nthat says something")
    (tmp_path / "password").write_text("four unrelated words here")
    waiting, parked = (str(booth.write(lambda: jobs.enqueue("test.good"))) for _ in range(2))
    run("flux_jobs", "park", parked)
    grant = run("flux_grant", "give", "helper", "snapshots.read", "--json").json()["id"]
    agent = tokens.authenticate(run("flux_token", "mint", "helper", "--json").json()["token"])
    run("flux_store", "something to judge")
    trace, grain = _judged()
    run("flux_kv", "write", "helper", "kept", "1")
    run("flux_board", "write", "kept", "1")
    run("flux_board", "make", "spare")
    run("flux_files", "create", "deleted")
    run("flux_files", "delete", "deleted")
    run("flux_files", "create", "kept")
    run("flux_files", "write", "kept", "a.md", "one")
    run("flux_transcript", "say", "kept", '[{"role": "user"}]')
    run("flux_files", "create", "staged", "--staging-prefix", "proposals")
    item = run("flux_files", "write", "staged", "proposals/a.md", "one", "--json").json()["proposal"]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.md").write_text("a")
    run("flux_board", "add", "claimed", "1")
    return {
        "item": item,
        "seen": run("flux_review", "show", item, "--json").json()["seen"],
        "removal": run("flux_transcript", "pop", "kept", "--json").json()["removal"],
        "lock": run("flux_board", "lock", "held", "--json").json()["token"],
        "task": run("flux_board", "claim", "claimed", "--json").json()["task"],
        "trace": trace,
        "grain": grain,
        "cluster": _clustered(),
        "grant": grant,
        "request": grants.request(agent, capability="metrics.read")["id"],
        "waiting": waiting,
        "parked": parked,
        "prefix": run("flux_token", "mint", "helper", "--json").json()["prefix"],
        "manifest": tmp_path / "manifest.yaml",
        "nowhere": tmp_path / "nowhere",
        "password": tmp_path / "password",
        "notes": tmp_path / "notes.md",
        "export": tmp_path / "export",
        "exported": tmp_path / "exported",
        "got": tmp_path / "got.md",
        "folder": tmp_path / "folder",
    }


def _judged() -> tuple[str, str]:
    """A vote; the ids it is named by."""
    grain = Grain.objects.get()
    judged = JudgedQuestion.objects.create(
        uuid=uuid.uuid4(), space_id=grain.space_id, actor="agent:helper", asked_at=clock.now(), query="q", terms=b""
    )
    Vote.objects.create(
        space_id=grain.space_id, judged=judged, grain=grain, useful=True, strength=1, scale=1, at=clock.now()
    )
    return str(judged.uuid), str(grain.uuid)


def _clustered() -> str:
    moment = clock.now()
    return str(Cluster.objects.create(space=Space.objects.get(), layer=0, made_at=moment, changed_at=moment).uuid)


@pytest.fixture
def say(run, things, capfd):
    """Run a command line with --json; what it printed must be one document, and all there is on stdout."""

    def call(line):
        said = run(*line.format(**things).split(), "--json")
        assert capfd.readouterr().out == ""  # nothing went past the command's own output
        return said.status, said.json()

    return call


@pytest.fixture
def say_each(say, things, cases, settings, tmp_path):
    """Each line on the same rows and in the same home; how it ended and its document for `holds`."""
    home, saved = settings.HOME.path, tmp_path / "saved"
    shutil.copytree(home, saved)

    def call(lines, holds):
        for line in lines:
            with cases.case(line):
                assert holds(*say(line))
            things["export"].unlink(missing_ok=True)
            shutil.rmtree(home)
            shutil.copytree(saved, home)

    return call


def test_for_scripts_success_is_one_json_document(say_each):
    say_each(WORKS, lambda status, document: status == 0 and document and not _is_refusal(document))


def _is_refusal(document):
    return set(document) == {"error"} and set(document["error"]) == {"code", "message", "details"}


def test_for_scripts_a_refusal_is_one_json_document(say_each):
    say_each(REFUSED, lambda status, document: status > 0 and _is_refusal(document))


@pytest.mark.parametrize("name", [name for name in COMMANDS if load_command_class("memory", name).needs_instance])
def test_for_scripts_a_missing_instance_is_one_json_document(say, monkeypatch, name):
    monkeypatch.setenv("FLUX_NAME", "nobody")
    status, document = say(f"{name} tail" if name == "flux_audit" else name)
    assert status == 65
    assert "There is no instance 'nobody'" in document["error"]["message"]


def test_for_scripts_a_change_of_the_whole_instance_is_one_json_document(instance, tmp_path):
    lines = [line.format(file=tmp_path / "b.tar.zst") for line in ON_AN_INSTANCE]
    one = instance().with_tables()
    said = json.loads(one.command("shell", "-v", "0", "-c", ONE_BY_ONE.format(lines=lines)).stdout)
    made, saved, verified, restored, reset = (json.loads(text) for text in said)
    assert (made["new"], saved["file"], verified["sound"]) == (True, str(tmp_path / "b.tar.zst"), True)
    assert (restored["restored"], reset["reset"]) == (True, True)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "flux_start"])
def test_every_action_is_tried_above_and_every_command_refused(name):
    actions = next((action.choices for action in _parser(name)._actions if action.dest == "action"), [""])
    every = {f"{name} {action}".strip() for action in actions} - A_DOCUMENT_A_LINE
    tried = [line.split() for line in WORKS + ON_AN_INSTANCE + IN_A_FILE_OF_ITS_OWN]
    assert [one for one in sorted(every) if not any(line[: len(one.split())] == one.split() for line in tried)] == []
    assert any(line.split()[0] == name for line in REFUSED) or load_command_class("memory", name).needs_instance
