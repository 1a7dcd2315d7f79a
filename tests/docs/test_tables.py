"""What the documents list is what the code has."""

from __future__ import annotations

import re
from datetime import date

import pytest

from accounts.capabilities import OPERATIONS as CAPABILITIES
from accounts.origins import CLAIMABLE
from flux.calls import registry as calls
from fluxcore.version import VERSION
from mcp_bridge import registry
from memory.api.urls import CALLS
from tests.docs import sdk_methods, tables
from tests.docs.pages import DECISIONS, PAGES, ROOT, prose, table
from tests.packaging.project_files import environment_variables

GLOSSARY = ("Memory", "Recall and learning", "Who acts", "How it runs")
GROUPS = (registry.DEFAULT_GROUP, *registry.SWITCHED_GROUPS)


@pytest.mark.parametrize("name", tables.TABLES)
def test_a_written_table_is_up_to_date(name):
    assert tables.written(name) == tables.TABLES[name][1](), "run `make docs`"


def test_the_methods_of_the_client_are_up_to_date():
    for page, source in sdk_methods.pages().items():
        assert page.read_text(encoding="utf-8") == source, "run `make docs`"


def test_every_environment_variable_is_documented_with_its_default():
    documented = {row[0].strip("`"): row[1].strip("`") for row in table(tables.OPERATIONS, "Environment variables")}
    read = environment_variables()
    assert set(documented) == set(read)
    shown = {True: "on", False: "off"}
    for name, default in read.items():
        if default is not None:
            assert documented[name] == str(shown.get(default, default)), name


def test_every_rest_call_is_documented():
    rooms = [row for room in calls.ROOMS for row in table(tables.ROOT / "docs" / room.document, "All calls")]
    rows = [*table(tables.API, "Calls"), *rooms]
    listed = {row[0].strip("`") for row in rows if row[0]}
    routes = {_shown(route) for route, _ in CALLS}
    assert {call.split()[1] for call in listed} == routes
    for route, view in CALLS:
        methods = {method.upper() for method in ("get", "post", "put", "patch", "delete") if hasattr(view.cls, method)}
        path = _shown(route)
        assert {call.split()[0] for call in listed if call.split()[1] == path} == methods


def test_the_page_of_files_has_every_call_on_stores():
    listed = {row[0].strip("`") for row in table(tables.ROOT / "docs/artifacts.md", "All calls") if row[0]}
    shown = [(_shown(route), view.cls) for route, view in CALLS if route.startswith("stores")]
    methods = ("get", "post", "put", "patch", "delete")
    calls_on_stores = {f"{name.upper()} {path}" for path, view in shown for name in methods if hasattr(view, name)}
    assert calls_on_stores - listed == set()


def _shown(route: str) -> str:
    return re.sub(r"<str:\w+>", "{id}", re.sub(r"<text:(\w+)>", r"{\1}", f"/{route}"))


def test_every_capability_and_provenance_is_named():
    text = tables.API.read_text()
    assert {name for name in (*CAPABILITIES, *CLAIMABLE) if f"`{name}`" not in text} == set()


def test_every_command_is_described():
    commands = {path.stem for path in (ROOT / "memory/management/commands").glob("flux_*.py")}
    text = tables.OPERATIONS.read_text()
    assert {name for name in commands if name not in text} == set()


def test_every_command_named_exists():
    commands = {path.stem for path in (ROOT / "memory/management/commands").glob("flux_*.py")}
    named = {name for page in PAGES for name in re.findall(r"(?:`|manage\.py )(flux_[a-z]+)", page.read_text())}
    # flux_extracts is an operating mode, flux_job_… are metrics, and the tools of MCP are named alike.
    tools = {
        re.match(r"[a-z]+_[a-z]+", tool.name).group() for name in GROUPS for tool in registry.load_group(name).tools
    }
    assert named - commands <= {"flux_extracts", "flux_job", *tools}


def test_the_changelog_begins_with_the_version_and_dates_every_release():
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    releases = [re.fullmatch(r"(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)", heading) for heading in headings]
    assert all(releases), "a heading is a version with its day: ## 1.2.3 (2026-11-18)"
    versions = [release[1] for release in releases]
    days = [date.fromisoformat(release[2]) for release in releases]
    assert versions[0] == VERSION
    assert versions == sorted(set(versions), key=lambda one: tuple(map(int, one.split("."))), reverse=True)
    assert days == sorted(days, reverse=True)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_every_relative_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        assert not target.startswith("http"), "the documents are complete without the network"
        path, _, anchor = target.partition("#")
        found = page.parent / path if path else page
        assert found.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", found.read_text(), re.MULTILINE)
            slugs = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert anchor in slugs, target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_named_exists(page):
    """In code spans: whatever has a folder or ends like a source file is a path of this repository."""
    # Files of a data home, described in operations.md, what benchmarks write, and placeholders.
    elsewhere = re.compile(
        r"^(~|/|\.venv|keys|queue|run|backups|blobs|reports|integrations|flux\.|config\.yaml|application/|.*\.log)"
    )
    named = re.findall(r"`([\w./-]+/[\w./-]*|[\w-]+\.(?:py|txt|toml|yml|md|svg))`", prose(page))
    assert {name for name in named if not elsewhere.match(name) and not (ROOT / name).exists()} == set()


def test_every_decision_is_listed_and_has_its_five_parts():
    index, *pages = [*DECISIONS[-1:], *DECISIONS[:-1]]
    assert index.name == "README.md"
    listed = re.findall(r"^\| \[(\d{3})\]\(([^)]+)\)", index.read_text(), re.MULTILINE)
    assert listed == [(page.name[:3], page.name) for page in pages]
    for page in pages:
        assert re.findall(r"^## (.*)$", page.read_text(), re.MULTILINE) == [
            "Context",
            "Decision",
            "Figures",
            "What was given up",
            "When to revisit",
        ], page.name
        assert page.read_text().startswith(f"# {page.name[:3]}: ")


def test_every_word_of_the_glossary_is_explained_once():
    words = [row[0] for heading in GLOSSARY for row in table(ROOT / "docs/glossary.md", heading)]
    assert len(words) > 50 and len(set(words)) == len(words)
