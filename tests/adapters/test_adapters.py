"""Adapters without their frameworks: what they import and say. `make adapters` compares them with the frameworks."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

from flux import adapters
from flux.adapters import graph_keys, memory_commands
from flux.calls.rules import MAX_KEY, normal_key
from flux.client import FluxClient
from fluxcore import globs
from memory.artifacts import moving
from tests.adapters.__main__ import examples, programs

FOLDER = Path(adapters.__file__).parent
# The most lines of each adapter. A prototype of the first two on keys took 89 and 63; what they have more of is here
# what the frameworks' own stores do, and what `make adapters` compares.
LINES = {
    # Half of it are the answers and refusals of the SDK's own tool, word for word. The rest are folders, which a store
    # does not have, edits that are made again when others were faster, and one set of commands for both clients.
    "anthropic": 300,
    # A quarter is ranking: by recall, and of what it does not have yet by words. The rest are filters, conditions on
    # namespaces, keys for names of any script, lifetimes, and writes in batches.
    "langgraph": 310,
    # Pages for long conversations, and keys that make a repeated turn one.
    "openai_agents": 70,
}
MODULES = {"anthropic": "anthropic", "langgraph": "langgraph", "openai_agents": "agents"}


def imported_without(monkeypatch, name, package):
    """The module of an adapter, imported where its framework is not installed."""
    for loaded in list(sys.modules):
        if loaded.partition(".")[0] == package:
            monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"flux.adapters.{name}", raising=False)
    return importlib.import_module(f"flux.adapters.{name}")


@pytest.mark.parametrize("name", ["anthropic", "langgraph"])
def test_it_names_the_package_that_is_missing(monkeypatch, name):
    with pytest.raises(ImportError, match=f"Install it: pip install {name}$") as error:
        imported_without(monkeypatch, name, MODULES[name])
    assert f"needs the package {name}" in str(error.value)


def test_sessions_need_no_import_of_their_framework(monkeypatch):
    assert imported_without(monkeypatch, "openai_agents", "agents").OpenAISession


NAMES = (
    "plain name_.-~1",
    "a/b",
    "*",
    "..",
    "%2F",
    "\\",
    "\0\n",
    "",
    "ж猫é",
    "हिन्दी",
    "u\u0308",
    "\u212b",
    "\u1112\u1161",
    "✓🙂",
    "\u202e",
)


@pytest.mark.parametrize("name", NAMES)
def test_keys_of_items_are_keys_of_the_server_and_lead_back(name):
    key = graph_keys.key_of("any*/where", (name, name))
    assert normal_key(key) == key
    assert graph_keys.names_of("any*/where", key) == (name, name)
    assert globs.matches(graph_keys.pattern_below(graph_keys.key_of("any*/where", (name, ""))), key)


def test_names_of_items_have_different_keys():
    assert len({graph_keys.key_of("f", (name,)) for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize("letter", ["x", "ж", "猫", "ह", "하", "✓"])
def test_letters_of_any_script_take_one_character_of_a_key(letter):
    assert len(graph_keys.key_of("f", (letter * 510,))) == MAX_KEY
    with pytest.raises(ValueError, match=r"take 513 characters .* At most 512"):
        graph_keys.key_of("f", (letter * 511,))


def files_of(name):
    """Files of an adapter: its module, and what that imports of the folder."""
    found, waiting = set(), [name]
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            code = (FOLDER / f"{module}.py").read_text()
            names = re.findall(r"^from flux\.adapters(?:\.(\w+))? import (.+)$", code, re.MULTILINE)
            named = {one for module, all_of in names for one in ([module] if module else all_of.split(", "))}
            waiting += [one for one in named if (FOLDER / f"{one}.py").exists()]
    return found


@pytest.mark.parametrize("name", LINES)
def test_they_are_as_thin_as_said(name):
    """Lines of an adapter in all its files, however many these are."""
    count = sum(len((FOLDER / f"{module}.py").read_text().splitlines()) for module in files_of(name))
    assert LINES[name] - 30 < count <= LINES[name]


def test_every_file_belongs_to_an_adapter():
    assert set.union(*map(files_of, LINES)) == {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}


def test_each_is_compared_and_has_an_example():
    assert programs() == ["anthropic_memory_tool", "langgraph_store", "openai_agents_session"]
    found = examples()
    assert [name for name in MODULES if not any(f"from flux.adapters.{name} import" in code for code in found)] == []


@pytest.mark.storage
def test_more_files_than_one_call_deletes(live_server, make_token, monkeypatch):
    monkeypatch.setattr(memory_commands, "PAGE", 2)
    monkeypatch.setattr(moving, "MAX_FILES", 2)
    with FluxClient(live_server.url, make_token(capabilities=("artifacts.read", "artifacts.write"))) as client:
        client.create_store("k")
        for path in ("memories/a", "memories/b/c", "memories/b/d", "memories/e", "memories/f", "elsewhere"):
            client.put_file("k", path, b"x")
        with pytest.raises(StopIteration, match="All memory cleared"):
            memory_commands.MemoryCommands(client, "k").clear_all_memory(None).send(None)
        assert [file["path"] for file in client.list_files("k")["files"]] == ["elsewhere"]
