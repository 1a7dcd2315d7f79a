"""Calls that are declared in `toy_room.py`, and nowhere else, are found at every server once the room is registered."""

import asyncio
import io
import json
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.urls import path
from drf_spectacular.generators import SchemaGenerator
from pydantic import Field

from accounts import tokens
from accounts.calls import needed
from accounts.models import Agent, AuditEntry
from flux import errors
from flux.calls import registry as call_registry
from flux.calls import schema
from flux.calls.base import Answers, CallAtPlace, Read
from flux.client import AsyncFluxClient, FluxClient
from mcp_bridge import calls as mcp_calls
from mcp_bridge import registry, server
from memory.api import calls as rest_calls
from memory.api import urls as urls
from memory.management.calls import CallCommand
from memory.management.commands import flux_kv
from tests.calls import toy_answers, toy_room
from tests.conftest import Api
from tests.docs import sdk_methods, tables
from tests.docs.pages import ROOT
from tests.rest.routes import declared, refused

ROOMS = (*call_registry.ROOMS, toy_room.ROOM)
NOTE = {"text": "Ravens count", "weight": 2.5, "tags": ["birds", "a,b"], "counts": {"raven": 2}, "level": 2}
MESSAGES = [{"role": "user", "content": ["hi", None]}]
SHOWN = {"name": "one", **{name: value for name, value in NOTE.items() if name != "level"}}

# The addresses, as memory/api/urls.py would make them.
urlpatterns = [
    path(f"api/v1/{route}", view) for route, view in rest_calls.routes((*call_registry.calls(), *toy_room.CALLS))
]
urlpatterns += [path(route, view) for route, view in rest_calls.routes((*call_registry.calls(), *toy_room.CALLS))]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """The toy room beside the real ones: one line, and a sentence for the group that people switch on."""
    for name in registry.SWITCHED_GROUPS:
        registry.load_group(name)  # whatever is imported first here must not have the toys
    monkeypatch.setattr(call_registry, "ROOMS", ROOMS)
    monkeypatch.setitem(registry.SWITCHED_GROUPS, "toy", "notes of tests")
    registry.load_group.cache_clear()
    for name in ("memory", "toy"):
        module = ModuleType(f"mcp_bridge.tools.{name}")
        module.GROUP = registry.Group(name, registry.SWITCHED_GROUPS[name], mcp_calls.tools(name))
        monkeypatch.setitem(sys.modules, module.__name__, module)
    toy_room.NOTES.clear()
    yield
    registry.load_group.cache_clear()


@pytest.fixture
def token(make_token, settings):
    settings.ROOT_URLCONF = __name__
    made = make_token(capabilities=("memory.read", "memory.write", "bb.read", "artifacts.read", "artifacts.write"))
    Agent.objects.update(tools=["memory", "toy"])
    Api(made).put("/agents/alice/kv/a", {"value": "12345"})
    return made


# REST -------------------------------------------------------------------------------------------------
def test_a_call_at_a_place_over_rest_with_its_checks(token):
    assert Api(token).get("/agents/alice/measure/a").json() == {"key": "a", "bytes": 7}
    assert Api(token).get("/agents/alice/measure/a?factor=3").json()["bytes"] == 21
    answer = Api(token).get("/agents/alice/measure/a?factor=11")
    assert refused(answer, 422, "invalid") == {"field": "factor", "limit": 10}
    assert answer.json()["message"] == "factor must be a whole number from 1 to 10."
    assert refused(Api(token).get("/agents/alice/measure/a?banana=1"), 422, "invalid")["allowed"] == ["factor"]


def test_a_query_carries_numbers_and_lists(token):
    api = Api(token)
    api.put("/notes/one", NOTE)
    for query, found in (
        ("", True),
        ("?above=2.4", True),
        ("?above=2.5", False),
        ("?above=-1e-3", True),
        ("?tags=birds&tags=a%2Cb", True),
        ("?tags=birds&tags=cats", False),
        ("?levels=1&levels=2&newest=true", True),
        ("?levels=3", False),
    ):
        assert bool(api.get(f"/notes{query}").json()["notes"]) is found, query
    for query, field in (
        ("above=nan", "above"),
        ("above=1e999", "above"),
        ("above=", "above"),
        ("above=1&above=2", "above"),
        ("levels=4", "levels"),
        ("levels=x", "levels"),
        ("tags=eleven+letters", "tags"),
        ("tags=a&tags=b&tags=c&tags=d", "tags"),
    ):
        assert refused(api.get(f"/notes?{query}"), 422, "invalid")["field"] == field, query
    assert api.get("/notes?levels=4").json()["message"] == "levels[0] must be one of 1, 2, 3."


def test_a_write_over_rest_happens_once_and_is_written_down(token):
    api = Api(token)
    first = api.put("/notes/one", {**NOTE, "reason": "to count"}, headers={"Idempotency-Key": "k1"})
    assert (first.json(), first.headers["ETag"]) == ({**SHOWN, "version": 1}, '"v1"')
    assert (
        api.put("/notes/one", {**NOTE, "reason": "to count"}, headers={"Idempotency-Key": "k1"}).json() == first.json()
    )
    entry = AuditEntry.objects.get(action="notes.write")
    assert (entry.object, entry.reason, entry.outcome) == ("note:one", "to count", "done")
    assert toy_room.NOTES["one"]["version"] == 1
    assert api.get("/notes/one", headers={"If-None-Match": '"v1"'}).status_code == 304
    # What it expects: in a header or in the body.
    assert refused(api.put("/notes/one", NOTE, headers={"If-Match": '"v7"'}), 409, "conflict")["current_version"] == 1
    assert refused(api.put("/notes/one", NOTE, headers={"If-None-Match": "*"}), 409, "conflict")
    assert refused(api.put("/notes/one", NOTE, headers={"If-Match": f'"{"0" * 64}"'}), 422, "invalid")
    assert api.put("/notes/one", {**NOTE, "expected_version": 1}).headers["ETag"] == '"v2"'
    answer = api.put("/notes/one", {**NOTE, "counts": {"raven": "many"}})
    assert refused(answer, 422, "invalid") == {"field": "counts"}
    assert answer.json()["message"] == "counts.raven must be a whole number."
    answer = api.put("/notes/one", {**NOTE, "level": 4})
    assert answer.json()["message"] == "level must be one of 1, 2, 3."
    assert api.delete("/notes/one?tags=cats&expected_version=2").json() == {"removed": False}
    assert api.delete("/notes/one?tags=birds&tags=a%2Cb").json() == {"removed": True}


def test_a_path_has_slashes_and_messages_any_fields(token):
    api = Api(token)
    assert api.get("/notes/one/pages/a/b.md?lines=3").json() == {"path": "a/b.md", "lines": 3}
    assert api.get("/notes/one/pages/a").json()["message"] == "lines is missing."
    said = [{"role": "user", "content": ["hi", None]}, {}]
    assert api.post("/notes/one/messages", {"messages": said}).json() == {"messages": said}
    for wrong, words in (
        ([], "messages must be a list of 1 to 2."),
        (["text"], "messages[0] must be an object."),
        ([{"x": 1}, None], "messages[1] must be an object."),
    ):
        assert api.post("/notes/one/messages", {"messages": wrong}).json()["message"] == words


def test_a_call_without_capability_is_for_every_agent(make_token, settings):
    settings.ROOT_URLCONF = __name__
    assert Api(make_token("bob", capabilities=())).get("/greet").json() == {"hello": "bob"}
    assert Api(None).get("/greet").status_code == 401
    assert needed(toy_room.Greet) == "self.read"


def test_what_a_query_cannot_carry_is_refused_at_the_declaration():
    class Lost(Read, Answers[toy_answers.Note]):
        """Loses a field."""

        rest = "GET /lost"
        counts: dict[str, int] = Field(description="Too much for a query.")

    with pytest.raises(TypeError, match="a query cannot carry counts"):
        schema.rest_fields(CallAtPlace(Lost))


def test_in_the_openapi_document():
    document = SchemaGenerator(urlconf=__name__).get_schema(public=True)
    operation = document["paths"]["/api/v1/boards/{board}/measure/{key}"]["get"]
    assert operation["operationId"] == "board_measure"
    assert {one["name"]: one["in"] for one in operation["parameters"]} == {
        "board": "path",
        "key": "path",
        "factor": "query",
    }
    shapes = document["components"]["schemas"]
    assert shapes["Length"]["properties"]["bytes"] == {"type": "integer"}
    asked = {one["name"]: one["schema"] for one in document["paths"]["/api/v1/notes"]["get"]["parameters"]}
    assert asked["tags"] == {"type": "array", "items": {"type": "string", "maxLength": 10}, "maxItems": 3}
    assert asked["levels"]["items"] == {"type": "integer", "enum": [1, 2, 3]}
    assert asked["above"]["type"] == "number"
    written = document["paths"]["/api/v1/notes/{note}"]["put"]
    assert {one["name"] for one in written["parameters"]} >= {"If-Match", "If-None-Match", "Idempotency-Key"}
    body = shapes["WriteNoteRequest"]
    assert body["properties"]["counts"]["additionalProperties"] == {"type": "integer"}
    assert (body["properties"]["level"]["enum"], body["required"]) == ([1, 2, 3, None], ["text"])
    assert shapes["Note"]["properties"]["tags"] == {"type": "array", "items": {"type": "string"}}


# MCP --------------------------------------------------------------------------------------------------
def run_tool(token, name, **given):
    who = tokens.authenticate(token)
    context = SimpleNamespace(session=SimpleNamespace(client_params=None))
    return server.run_tool(lambda ctx: who, context, name, given)


def test_as_tools_that_are_listed_and_called(token):
    tools = {one.name: one for one in registry.visible_tools(tokens.authenticate(token))}
    assert set(tools["memory_measure"].input_schema()["properties"]) == {"key", "factor", "agent", "caller_id"}
    assert run_tool(token, "memory_measure", key="a", factor=2).structured_content == {"key": "a", "bytes": 14}
    wrong = run_tool(token, "memory_measure", key="a", factor=0)
    assert wrong.is_error and "factor must be a whole number from 1 to 10" in wrong.content[0].text

    takes = tools["write_note"].input_schema()
    assert takes["required"] == ["note", "text"]
    assert takes["properties"]["tags"]["items"]["type"] == "string"
    assert takes["properties"]["counts"]["additionalProperties"] == {"type": "integer"}
    assert takes["properties"]["level"] == {"type": "integer", "enum": [1, 2, 3]}
    assert (tools["write_note"].repeats, tools["remove_note"].destroys, tools["find_notes"].reads) == (True, True, True)
    given = {"note": "one", **NOTE, "reason": "to count", "idempotency_key": "k1"}
    for _ in range(2):
        assert run_tool(token, "write_note", **given).structured_content == {**SHOWN, "version": 1}
    assert AuditEntry.objects.get(action="notes.write").reason == "to count"
    assert run_tool(token, "find_notes", tags=["birds"], above=2.4).structured_content["notes"][0]["name"] == "one"
    assert run_tool(token, "write_note", **NOTE, note="one", expected_version=7).is_error
    assert run_tool(token, "write_note", **{**NOTE, "note": "one", "counts": {"raven": 0.5}}).is_error
    assert run_tool(token, "greet").structured_content == {"hello": "alice"}
    assert run_tool(token, "add_messages", note="one", messages=MESSAGES).structured_content == {"messages": MESSAGES}
    assert run_tool(token, "read_page", note="one", path="a/b", lines=3).structured_content["path"] == "a/b"
    assert run_tool(token, "remove_note", note="one", tags=["cats"]).structured_content == {"removed": False}


# Client -----------------------------------------------------------------------------------------------
@pytest.fixture
def source():
    """The client's methods, as `make docs` would write them."""
    return sdk_methods.pages()[ROOT / "flux/rooms/toy.py"]


@pytest.mark.django_db(transaction=True)
def test_as_methods_of_both_clients_over_a_real_connection(live_server, token, source):
    made: dict = {}
    exec(compile(source, "toy", "exec"), made)

    class ToyClient(made["Toy"], FluxClient):
        pass

    class AsyncToyClient(made["Toy"], AsyncFluxClient):
        pass

    async def awaited():
        async with AsyncToyClient(live_server.url, token) as flux:
            await flux.write_note("two", "Crows too", tags=("birds",), level=3, expected_version=0)
            found = await flux.find_notes(tags=["birds"], levels=[2, 3], newest=True)
            return [one["name"] for one in found["notes"]], await flux.memory_measure("alice", "a", factor=2)

    with ToyClient(live_server.url, token) as flux:
        assert flux.memory_measure("alice", "a") == {"key": "a", "bytes": 7}
        named = {name: value for name, value in NOTE.items() if name != "text"}
        assert flux.write_note("one", NOTE["text"], **named, reason="to count") == {**SHOWN, "version": 1}
        assert flux.write_note("one", "x", idempotency_key="k")["version"] == 2
        assert flux.write_note("one", "x", idempotency_key="k")["version"] == 2
        with pytest.raises(errors.Conflict):
            flux.write_note("one", "y", expected_version=1)
        flux.write_note("one", NOTE["text"], **named)
        assert flux.find_notes(tags=("birds", "a,b"), above=2.25)["notes"][0]["name"] == "one"
        assert flux.find_notes(levels=[1])["notes"] == []
        assert flux.add_messages("one", tuple(MESSAGES)) == {"messages": MESSAGES}
        assert flux.read_page("one", "a/../b c", 3) == {"path": "a/../b c", "lines": 3}
        assert flux.greet() == {"hello": "alice"}
        assert flux.remove_note("one", tags=["cats"]) == {"removed": False}
    assert asyncio.run(awaited()) == (["two", "one"], {"key": "a", "bytes": 14})


USE = """
from typing import assert_type
from collections.abc import Awaitable
from flux.core import AsyncSends, Sends
from tests.calls.toy_answers import Note, Notes
from toy import Toy

class Waits(Toy, Sends): ...
class Awaits(Toy, AsyncSends): ...

def use(one: Waits, other: Awaits) -> None:
    assert_type(one.write_note("n", "text", weight=1, tags=("a",), counts={"a": 1}, level=2), Note)
    assert_type(other.find_notes(tags=["a"], levels=[1], above=0.5, newest=True), Awaitable[Notes])
    one.add_messages("n", [{"role": "user"}])
    one.find_notes(tags=[1])  # wrong
    one.add_messages("n", ["text"])  # wrong
    one.write_note("n", "text", counts={"a": "b"})  # wrong
"""


@pytest.mark.proof
def test_the_methods_are_typed(source, tmp_path):
    (tmp_path / "toy.py").write_text(source)
    (tmp_path / "use.py").write_text(USE)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=", "toy.py", "use.py"],
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line]
    wrong = [number for number, line in enumerate(USE.splitlines(), 1) if line.endswith("# wrong")]
    assert lines == wrong, done.stdout + done.stderr


# Shell ------------------------------------------------------------------------------------------------
class ToyCommand(CallCommand):
    group = "toy"


def typed(command, *words):
    out = io.StringIO()
    call_command(command, *words, "--space", "home", stdout=out)
    return json.loads(out.getvalue())


def test_at_the_shell(token):
    assert typed(flux_kv.Command(), "measure", "alice", "a", "--factor", "2") == {"key": "a", "bytes": 14}
    toy = ToyCommand()
    words = ("--weight", "2.5", "--tags", "birds", "--tags", "a,b", "--level", "2", "--reason", "to count")
    assert typed(toy, "count", "one", "Ravens count", '{"raven": 2}', *words) == {**SHOWN, "version": 1}
    assert AuditEntry.objects.get(action="notes.write").reason == "to count"
    assert len(typed(toy, "find", "--above", "2.4", "--tags", "birds", "--levels", "2")["notes"]) == 1
    assert typed(toy, "find", "--levels", "3", "--newest")["notes"] == []
    assert typed(toy, "greet", "--as", "alice") == {"hello": "alice"}
    assert typed(toy, "say", "one", json.dumps(MESSAGES)) == {"messages": MESSAGES}
    assert typed(toy, "page", "one", "a/b", "--lines", "3")["lines"] == 3
    with pytest.raises(SystemExit):
        typed(toy, "remove", "one", "--confirm", "two")
    with pytest.raises(CommandError, match="invalid choice"):
        typed(toy, "write", "one", "text", "--level", "4")
    assert typed(toy, "remove", "one", "--confirm", "one", "--tags", "birds") == {"removed": True}


# Documents and tests ----------------------------------------------------------------------------------
def test_in_the_table_of_the_documents():
    table = tables.calls_table(call_registry.calls(room=toy_room.ROOM))
    assert (
        "| `GET /boards/{id}/measure/{key}` | `bb.read` | `board_measure` | `board_measure` | `board measure` | "
        "How many bytes the value under a key has, times a factor. |"
    ) in table
    assert (
        "| `PUT /notes/{id}` | `artifacts.write` | `write_note` | `write_note` | `toy write`, `toy count` | "
        "Write a note. |"
    ) in table
    assert "| `GET /notes/{id}/pages/{path}` |" in table
    assert "| `GET /greet` |  | `greet` | `greet` | `toy greet` | A greeting, for every agent. |" in table


def test_in_the_capability_matrix(token, make_token):
    rows = {f"{one.method} {one.route}": one for one in declared(call_registry.calls(room=toy_room.ROOM))}
    own, of_board = rows["GET agents/<str:agent>/measure/<text:key>"], rows["GET boards/<str:board>/measure/<text:key>"]
    assert (own.needs, own.refusal, of_board.needs, of_board.refusal) == (
        "memory.read",
        "memory.read:kept/by the table",
        "bb.read",
        "bb.read@main:kept/by the table",
    )
    assert own.call(Api(token)).status_code == 200
    bob = Api(make_token("bob", capabilities=("bb.read",)))
    assert refused(own.call(bob), 403, "forbidden")["missing"] == "memory.read@alice:kept/by the table"
    assert AuditEntry.objects.filter(action="kv.measure", outcome="refused").count() == 1
    write = rows["PUT notes/<str:note>"]
    assert refused(bob.put("/notes/one", write.body), 403, "forbidden")["missing"] == write.refusal == "artifacts.write"
    assert rows["GET greet"].needs is None
    page = rows["GET notes/<str:note>/pages/<text:path>"]
    assert page.call(Api(token)).json() == {"path": "first/page", "lines": 3}
    assert rows["POST notes/<str:note>/messages"].call(Api(token)).status_code == 200
