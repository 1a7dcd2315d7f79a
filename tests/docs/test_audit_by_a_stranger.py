"""The program in security.md, as a stranger would run it: three files, the standard library and one package."""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from django.core.management import call_command

from accounts.audit import checkpoints, signing
from accounts.models import AuditEntry
from accounts.principals import shell
from fluxcore import canonical_json
from fluxsite.home import DataHome, make_home
from tests.accounts.audit_chains import rewrite
from tests.docs.pages import ROOT

pytestmark = [pytest.mark.django_db, pytest.mark.storage]
PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")
(PROGRAM,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def files(tmp_path, settings, api):
    """An export, the log and the public keys of an instance that has done a few things."""
    settings.HOME = DataHome("stranger", tmp_path / "stranger")
    make_home(settings.HOME)
    for number in range(6):
        api.post("/store", {"content": f"Grüße {number} 🌍", "reason": 'said "so" \u2028 ü'})
        if number % 3 == 2:
            checkpoints.make_checkpoint()
    (tmp_path / "verify.py").write_text(PROGRAM)
    chain = AuditEntry.objects.filter(action="grains.store").values_list("chain", flat=True)[0]
    length = AuditEntry.objects.filter(chain=chain).count()
    found = SimpleNamespace(
        folder=tmp_path,
        export=tmp_path / "export.jsonl",
        log=settings.HOME.checkpoints,
        chain=chain,
        length=length,
        keys=settings.HOME.keys / "audit_public_keys",
    )
    found.take = lambda *options: found.export.write_text(exported(*options), encoding="utf-8")
    found.take()
    return found


def exported(*options):
    out = io.StringIO()
    call_command("flux_audit", "export", *options, stdout=out)
    return out.getvalue()


def run(files):
    done = subprocess.run(
        [sys.executable, "-I", "verify.py", str(files.export), str(files.log), str(files.keys)],
        cwd=files.folder,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def entries(files):
    return [json.loads(line) for line in files.export.read_text(encoding="utf-8").split("\n")[:-1]]


def put(files, found):
    files.export.write_text("".join(json.dumps(entry) + "\n" for entry in found), encoding="utf-8")


def position(files, number):
    """Where in the export the entry of that number of the space's chain is."""
    return next(at for at, one in enumerate(entries(files)) if (one["chain"], one["seq"]) == (files.chain, number))


def test_it_is_thirty_lines_of_the_standard_library_and_one_package():
    assert len(PROGRAM.splitlines()) <= 30
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else name.name).partition(".")[0]
        for node in ast.walk(ast.parse(PROGRAM))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert imported - set(sys.stdlib_module_names) == {"cryptography"}


def test_a_sound_export_is_accepted(files):
    status, said = run(files)
    assert (status, "sound" in said, f"'{files.chain}': {files.length}" in said) == (0, True, True)


def test_the_export_of_one_space_is_accepted(files):
    files.take("--space", "home")
    assert run(files)[0] == 0


def test_an_export_that_has_grown_since_is_accepted(files, api):
    api.post("/store", {"content": "one more"})
    files.take()
    assert run(files)[0] == 0


def test_a_log_with_another_key_and_replaced_chains_is_accepted(files, settings, api):
    first = files.keys.read_text()
    checkpoints.rotate_key(shell())
    checkpoints.start_over(settings.HOME, "restore")
    AuditEntry.objects.filter(chain=files.chain, seq=files.length).delete()
    checkpoints.make_checkpoint()
    files.take()
    assert run(files)[0] == 0
    files.keys.write_text(first)  # a copy from before the change is enough
    assert run(files)[0] == 0


@pytest.mark.parametrize("cut", [1, 3, "all but one"])
def test_a_cut_end_is_refused(files, cut):
    cut = files.length - 1 if cut == "all but one" else cut
    AuditEntry.objects.filter(chain=files.chain, seq__gt=files.length - cut).delete()
    files.take()
    status, said = run(files)
    assert (status, f"entry {files.length - cut + 1} is missing" in said) == (1, True)


@pytest.mark.parametrize("field", ["at", "actor", "action", "object", "outcome", "reason", "details", "prev", "hash"])
def test_an_edited_entry_is_refused_by_its_number(files, field):
    found = entries(files)
    found[position(files, 3)][field] = "2020-01-01T00:00:00.000000Z"
    put(files, found)
    assert run(files) == (1, f"{files.chain}: entry 3 is missing or was changed\n")


def test_a_removed_a_repeated_and_a_moved_entry_are_refused(files):
    found, at = entries(files), position(files, 3)
    for other, number in (
        ([*found[:at], *found[at + 1 :]], 3),
        ([*found[: at + 1], *found[at:]], 4),
        ([*found[:at], found[at + 1], found[at], *found[at + 2 :]], 3),
    ):
        put(files, other)
        assert run(files) == (1, f"{files.chain}: entry {number} is missing or was changed\n")


def test_an_end_written_anew_is_refused(files):
    rewrite(3, chain=files.chain, actor="agent:mallory")
    files.take()
    status, said = run(files)
    assert (status, "written anew" in said) == (1, True)


def test_a_forged_log_is_refused(files):
    texts = files.log.read_bytes().split(b"\n")[:-1]
    last = json.loads(texts[-1])
    other = signing.generate()
    fields = {name: value for name, value in {**last, "heads": {}}.items() if name != "signature"}
    forged = {**fields, "signature": signing.sign(other, canonical_json.dumps(fields).encode())}
    own = {**fields, "key": signing.public_half(other)}
    own["signature"] = signing.sign(other, canonical_json.dumps(own).encode())
    for bad in (
        [*texts[:-1], canonical_json.dumps({**last, "heads": {}}).encode()],
        [*texts[:-1], canonical_json.dumps(forged).encode()],
        [*texts[:-1], canonical_json.dumps(own).encode()],
        [texts[0], *texts[2:]],
        [*texts, texts[-1]],
    ):
        files.log.write_bytes(b"".join(text + b"\n" for text in bad))
        assert run(files)[0] == 1


def test_another_public_key_is_refused(files):
    files.keys.write_text(signing.public_half(signing.generate()))
    assert run(files)[0] == 1
