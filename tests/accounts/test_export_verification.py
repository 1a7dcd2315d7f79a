"""Export of the audit chain: verified with another implementation of canonical JSON."""

from __future__ import annotations

import io
import json
import shutil
import subprocess

import pytest
from django.core.management import call_command

from tests.servers import missing

CHECK = """
const {createHash} = require("crypto");
const lines = require("fs").readFileSync(0, "utf8").trim().split("\\n").map(JSON.parse);
let prev = "0".repeat(64);
lines.forEach((e, i) => {
  const fields = [e.chain, e.seq, e.at, e.actor, e.action, e.object, e.outcome, e.reason, e.details, e.prev];
  const hash = createHash("sha256").update(JSON.stringify(fields)).digest("hex");
  if (e.seq !== i + 1 || e.prev !== prev || e.hash !== hash) { console.log("broken at " + (i + 1)); process.exit(1); }
  prev = e.hash;
});
console.log("sound " + lines.length);
"""


@pytest.fixture
def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip(missing("node", "it is not installed"))
    return found


@pytest.mark.node
def test_node_verifies_an_export_and_finds_an_edit(node, api):
    api.post("/store", {"content": "Grüße aus Köln 🌍", "reason": 'said "so" in chat \u2028 ü'})
    api.post("/store", {"content": "second"})
    out = io.StringIO()
    call_command("flux_audit", "export", "--space", "home", stdout=out)
    exported = out.getvalue()

    def check(text: str) -> tuple[int, str]:
        done = subprocess.run([node, "-e", CHECK], input=text, capture_output=True, text=True)
        return done.returncode, done.stdout.strip()

    entries = exported.strip().splitlines()
    assert check(exported) == (0, f"sound {len(entries)}")
    edited = {**json.loads(entries[1]), "actor": "agent:mallory"}
    assert check("\n".join([entries[0], json.dumps(edited), *entries[2:]])) == (1, "broken at 2")
