"""A call that is declared here, and nowhere else, is found at every server: the whole of what adding a call takes."""

import asyncio
import io
import json
from types import SimpleNamespace
from typing import TypedDict

import pytest
from django.core.management import call_command
from django.urls import include, path
from drf_spectacular.generators import SchemaGenerator
from pydantic import Field

from accounts import tokens
from accounts.calls import handles
from accounts.models import Agent, AuditEntry
from flux.calls import keys
from flux.calls.base import Answers, Read
from flux.calls.types import Key, Place
from flux.client import AsyncFluxClient, FluxClient
from mcp_bridge import calls as mcp_calls
from mcp_bridge import registry, server
from mcp_bridge.tools import memory as memory_tools
from memory.api import calls as rest_calls
from memory.keyvalue.models import Item
from memory.keyvalue.namespaces import place
from memory.keyvalue.reads import reads
from memory.management.commands import flux_kv
from tests.conftest import Api
from tests.docs import sdk_methods, tables
from tests.rest.routes import declared, refused


# The declaration and its handler ---------------------------------------------------------------------
class Length(TypedDict):
    key: str
    bytes: int


class MeasureKey(Read, Answers[Length]):
    """How many bytes the value under a key has, times a factor."""

    sdk, verb, rest = "{word}_measure", "kv.measure", "GET /{place}/measure/{key}"
    title, needs = "Measure {whose}", ("{domain}.read",)
    shell = ("measure {key}",)

    place: Place
    key: Key
    factor: int | None = Field(None, ge=1, le=10, description="Default 1.")


@handles(MeasureKey, asks=reads)
def measure_key(principal, request):
    where = place(request.place)
    item = Item.objects.get(namespace__kind=where.kind, namespace__name=where.name, key=request.key)
    return {"key": item.key, "bytes": item.size * (request.factor or 1)}


# What follows from them -------------------------------------------------------------------------------
_ROUTES = [path(route, view) for route, view in rest_calls.routes((*keys.CALLS, MeasureKey))]
urlpatterns = [path("api/v1/", include(_ROUTES)), *_ROUTES]


@pytest.fixture
def token(make_token, settings):
    settings.ROOT_URLCONF = __name__
    made = make_token(capabilities=("memory.read", "memory.write", "bb.read"))
    Agent.objects.update(tools=["memory"])
    Api(made).put("/agents/alice/kv/a", {"value": "12345"})
    return made


def test_over_rest_with_its_checks(token):
    assert Api(token).get("/agents/alice/measure/a").json() == {"key": "a", "bytes": 7}
    assert Api(token).get("/agents/alice/measure/a?factor=3").json()["bytes"] == 21
    answer = Api(token).get("/agents/alice/measure/a?factor=11")
    assert refused(answer, 422, "invalid") == {"field": "factor", "limit": 10}
    assert answer.json()["message"] == "factor must be a whole number from 1 to 10."
    assert refused(Api(token).get("/agents/alice/measure/a?banana=1"), 422, "invalid")["allowed"] == ["factor"]


def test_in_the_openapi_document():
    document = SchemaGenerator(urlconf=__name__).get_schema(public=True)
    operation = document["paths"]["/api/v1/boards/{board}/measure/{key}"]["get"]
    assert operation["operationId"] == "board_measure"
    assert {one["name"]: one["in"] for one in operation["parameters"]} == {
        "board": "path",
        "key": "path",
        "factor": "query",
    }
    assert document["components"]["schemas"]["Length"]["properties"]["bytes"] == {"type": "integer"}


@pytest.fixture
def toolbox(monkeypatch):
    group = registry.Group("memory", "exact memory", mcp_calls.tools((*keys.CALLS, MeasureKey), "memory"))
    monkeypatch.setattr(memory_tools, "GROUP", group)
    registry.load_group.cache_clear()
    yield
    registry.load_group.cache_clear()


def test_as_a_tool_that_is_listed_and_called(token, toolbox):
    who = tokens.authenticate(token)
    tool = next(one for one in registry.visible_tools(who) if one.name == "memory_measure")
    assert set(tool.input_schema()["properties"]) == {"key", "factor", "agent", "caller_id"}
    context = SimpleNamespace(session=SimpleNamespace(client_params=None))
    answer = server.run_tool(lambda ctx: who, context, "memory_measure", {"key": "a", "factor": 2})
    assert answer.structured_content == {"key": "a", "bytes": 14}
    wrong = server.run_tool(lambda ctx: who, context, "memory_measure", {"key": "a", "factor": 0})
    assert wrong.is_error and "factor must be a whole number from 1 to 10" in wrong.content[0].text


@pytest.fixture(scope="module")
def methods():
    """The client's methods, as `make docs` would write them."""
    source = sdk_methods.module("A toy.", "Toy", (MeasureKey,)).replace("flux.calls.answers", __name__)
    made: dict = {}
    exec(compile(source, "toy", "exec"), made)
    return made["Toy"]


@pytest.mark.django_db(transaction=True)
def test_as_a_method_of_both_clients_over_a_real_connection(live_server, token, methods):
    class ToyClient(methods, FluxClient):
        pass

    class AsyncToyClient(methods, AsyncFluxClient):
        pass

    async def awaited():
        async with AsyncToyClient(live_server.url, token) as flux:
            return await flux.memory_measure("alice", "a", factor=2)

    with ToyClient(live_server.url, token) as flux:
        assert flux.memory_measure("alice", "a") == {"key": "a", "bytes": 7}
    assert asyncio.run(awaited()) == {"key": "a", "bytes": 14}


def test_at_the_shell(token):
    class Command(flux_kv.Command):
        calls = (*keys.CALLS, MeasureKey)

    out = io.StringIO()
    call_command(Command(), "measure", "alice", "a", "--factor", "2", "--space", "home", stdout=out)
    assert json.loads(out.getvalue()) == {"key": "a", "bytes": 14}


def test_in_the_table_of_the_documents():
    assert (
        "| `GET /boards/{id}/measure/{key}` | `bb.read` | `board_measure` | `board_measure` | `board measure` | "
        "How many bytes the value under a key has, times a factor. |"
    ) in tables.calls_table((MeasureKey,))


def test_in_the_capability_matrix(token, make_token):
    own, of_board = declared((MeasureKey,))
    assert (own.needs, own.refusal, of_board.needs, of_board.refusal) == (
        "memory.read",
        "memory.read:kept/by the table",
        "bb.read",
        "bb.read@main:kept/by the table",
    )
    assert own.call(Api(token)).status_code == 200
    details = refused(own.call(Api(make_token("bob", capabilities=("bb.read",)))), 403, "forbidden")
    assert details["missing"] == "memory.read@alice:kept/by the table"
    assert AuditEntry.objects.filter(action="kv.measure", outcome="refused").count() == 1
