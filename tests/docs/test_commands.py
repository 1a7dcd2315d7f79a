"""Every shell command in the documents runs, in the order they stand in, against a real instance."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fluxcore.config import Config
from tests import forked_commands
from tests.docs.pages import PAGES, ROOT, commands
from tests.instances import Instance
from tests.servers import free_port, missing

# Commands that another check runs: how they begin -> the file that does it and what it says there.
ELSEWHERE = {
    "make run": (".ci/run", "run ONCE=1"),
    "make test": (".ci/run", "make test"),
    ".venv/bin/python -m pytest tests/": ("Makefile", "$(BIN)/python -m pytest -q -p no:xdist tests/$*"),
    "FLUX_TEST_DATABASE=postgres .venv/bin/python -m pytest tests/": ("Makefile", "ON_POSTGRES := "),
    ".venv/bin/python - <<'EOF'\nimport hashlib, json, sys": ("tests/docs/test_audit_by_a_stranger.py", "security.md"),
    ".venv/bin/python - <<'EOF'\nfrom flux.storage import FluxStore": (
        "tests/sdk/test_seed_names.py",
        "EXAMPLE + AND_MORE",
    ),
    **dict.fromkeys(
        (
            ".venv/bin/python - <<'EOF'\nfrom flux.adapters",
            ".venv/bin/python - <<'EOF'\nimport asyncio\n\nfrom flux.adapters",
        ),
        ("tests/adapters/__main__.py", "code in enumerate(examples(), 1)"),
    ),
    "scripts/secrets": ("tests/packaging/test_containers.py", "scripts/secrets"),
    "FLUX_SECRETS=~/flux-secrets docker compose up": ("tests/packaging/test_containers.py", "stack.start(service)"),
    ".venv/bin/python -m fluxsite.serve worker": ("tests/concurrency/test_queues.py", 'workshop.hire("heavy")'),
    "docker compose exec web python manage.py flux_token": ("tests/packaging/test_containers.py", '"flux_token"'),
    ".venv/bin/python manage.py flux_bench quality": ("tests/commands/test_flux_bench.py", '"quality", "--small"'),
    "docker compose exec web python manage.py flux_init": ("tests/commands/test_flux_init.py", "--admin"),
}
DEFAULT_PORTS = {Config().REST_PORT: "rest", Config().DASHBOARD_PORT: "people", Config().MCP_PORT: "mcp"}
# Curl ends with 0 on a refusal; a reader would see it, so the test must too.
PRELUDE = """
set -euo pipefail
curl() { command curl --silent --show-error --fail-with-body "$@"; }
"""


def here(page: Path) -> list[str]:
    return [command for command in commands(page) if not any(command.startswith(start) for start in ELSEWHERE)]


pytestmark = pytest.mark.xdist_group("docs")  # one instance serves all pages


@pytest.fixture(scope="module")
def documented(tmp_path_factory):
    """A running instance named `default`, whose configuration holds its ports so that a restart keeps them."""
    if shutil.which("curl") is None:
        pytest.skip(missing("curl", "it is not installed"))
    tmp_path = tmp_path_factory.mktemp("documented")
    ports = {door: free_port() for door in DEFAULT_PORTS.values()}
    one = Instance(tmp_path / "flux", "default", HOME=str(tmp_path))
    one.folder.mkdir(parents=True, mode=0o700)
    (one.folder / "config.yaml").write_text(
        f"REST_PORT: {ports['rest']}\nDASHBOARD_PORT: {ports['people']}\nMCP_PORT: {ports['mcp']}\n"
    )
    Instance(one.home, "second").with_tables()  # a page starts it; migrations have tests of their own
    one.with_tables().start(*(word for door, port in ports.items() for word in (f"--{door}-port", str(port))))
    yield one
    one.command("flux_stop", check=False)
    one.command("flux_stop", "--name", "second", check=False)
    if one.process is not None and one.process.poll() is None:
        one.kill()


def local(command: str, one: Instance) -> str:
    for port, door in DEFAULT_PORTS.items():
        command = re.sub(rf"(?<=:){port}\b", str(one.state["ports"][door]), command)
    python = shlex.quote(sys.executable)
    # Each command is a process of its own, forked from one that has loaded Django: there are half a hundred.
    manage = f"{python} -S {shlex.quote(forked_commands.__file__)} ask {forked_commands.server()} manage.py"
    return re.sub(r"\.venv/bin/python( manage\.py)?", lambda found: manage if found.group(1) else python, command)


@pytest.mark.parametrize("page", [page for page in PAGES if here(page)], ids=lambda page: page.name)
def test_the_commands_of_a_page_run(page, documented):
    steps = here(page)
    marked = [f"printf '\\n== {number}\\n'\n{local(step, documented)}\n" for number, step in enumerate(steps)]
    done = subprocess.run(
        ["bash", "-c", PRELUDE + "".join(marked)],
        env={**documented.environment, "FLUX_TOKEN": documented.token},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    reached = re.findall(r"^== (\d+)$", done.stdout, re.MULTILINE)
    assert done.returncode == 0, f"{steps[int(reached[-1])]}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert len(reached) == len(steps)


def test_the_first_pages_are_among_them():
    assert {page.name for page in PAGES if here(page)} >= {"README.md", "operations.md", "api.md"}


@pytest.mark.parametrize("start", ELSEWHERE)
def test_what_runs_elsewhere_is_documented_and_does_run_there(start):
    assert any(command.startswith(start) for page in PAGES for command in commands(page)), "no page says this any more"
    file, says = ELSEWHERE[start]
    assert says in (ROOT / file).read_text()


def test_tests_that_a_page_runs_are_there():
    lines = [command.split() for page in PAGES for command in commands(page) if "-m pytest tests/" in command]
    assert len(lines) >= 5
    for words in lines:
        file = next(ROOT / word for word in words if word.startswith("tests/"))
        assert "-k" not in words or words[words.index("-k") + 1] in file.read_text(), words
