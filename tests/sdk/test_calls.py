"""The client has a method for every REST call, with the arguments and answers of the OpenAPI document."""

from __future__ import annotations

import inspect
import typing
from urllib.parse import unquote

import httpx2
import pytest
from drf_spectacular.generators import SchemaGenerator

from flux import errors
from flux.client import AsyncFluxClient, FluxClient
from flux.core import CallArguments, _Bound, call
from fluxcore.errors import table
from tests.rest.routes import ROUTES

CALLS = {name: value for name, value in inspect.getmembers(FluxClient) if isinstance(value, _Bound)}


@pytest.fixture(scope="module")
def document():
    return SchemaGenerator().get_schema(public=True)


NO_METHOD = {("POST", "ipc")}  # agentd's envelopes, for programs that send them already; ours are calls of their own


def test_every_route_has_a_method_and_every_method_a_route():
    has = {(one.call.method, one.call.route) for one in CALLS.values()}
    assert has == {(route.method, route.path) for route in ROUTES.values()} - NO_METHOD
    assert {name for name, value in inspect.getmembers(AsyncFluxClient) if isinstance(value, _Bound)} == set(CALLS)


def test_a_method_is_named_as_its_operation(document):
    for name, one in CALLS.items():
        operation = document["paths"]["/api/v1/" + one.call.route][one.call.method.lower()]
        assert operation["operationId"] == name


def test_a_method_takes_what_the_operation_takes(document):
    for name, one in CALLS.items():
        operation = document["paths"]["/api/v1/" + one.call.route][one.call.method.lower()]
        takes = {name.rstrip("_") for name in inspect.signature(one.build).parameters} - {"self"}  # `in` is Python's
        wanted = {given["name"] for given in operation.get("parameters", ()) if given["in"] != "header"}
        wanted |= set(_body(document, operation)) - {"caller_id", "client", "role"}  # the client's own label
        wanted |= {"idempotency_key"} if one.call.kind == "write" else set()
        if "application/octet-stream" in operation.get("requestBody", {}).get("content", {}):
            takes -= {"content", "content_type"}  # the body itself, and a header
        assert takes - {"reason"} == wanted - {"reason"}, name  # a deletion may take one; no schema shows its body


def test_an_answer_has_the_keys_of_its_schema(document):
    for name, one in CALLS.items():
        if one.call.gives != "json":
            continue
        operation = document["paths"]["/api/v1/" + one.call.route][one.call.method.lower()]
        content, *_ = operation["responses"]["200"]["content"].values()
        (answer,) = typing.get_args(typing.get_type_hints(one.build)["return"])
        _compare(document, content["schema"], answer, name)


def test_every_row_of_the_error_table_is_an_exception_of_the_client():
    for row in table():
        body = b'{"code": "%s", "message": "m", "details": {}, "request_id": "r"}' % row.code.encode()
        found = errors.refusal(row.status, body, "2")
        assert type(found) is row
        assert getattr(errors, row.__name__) is row
        assert (found.message, found.retry_after) == ("m", 2.0)
    with pytest.raises(AttributeError):
        errors.Banana  # noqa: B018


def _body(document, operation):
    schemas = [one["schema"] for one in operation.get("requestBody", {}).get("content", {}).values()]
    found = {}
    for schema in schemas:
        while "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        for form in schema.get("oneOf", [schema]):
            found |= form.get("properties", {})  # a body of bytes has none
    return found


def _compare(document, schema, type_, where):
    """Compare a type with a schema key by key, through lists and optional values."""
    if type_ is typing.Any:
        return None
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    if "allOf" in schema:
        return _compare(document, schema["allOf"][0], type_, where)
    if "oneOf" in schema:
        (inner,) = (one for one in schema["oneOf"] if one.get("type") != "null")
        (given,) = (one for one in typing.get_args(type_) if one is not type(None))
        return _compare(document, inner, given, where)
    if schema.get("type") == "array":
        assert typing.get_origin(type_) is list, where
        return _compare(document, schema["items"], typing.get_args(type_)[0], where)
    if not typing.is_typeddict(type_):
        return None
    hints, marked = typing.get_type_hints(type_), typing.get_type_hints(type_, include_extras=True)
    assert set(hints) == set(schema["properties"]), where
    required = {key for key, one in marked.items() if typing.get_origin(one) is not typing.NotRequired}
    assert required == set(schema.get("required", ())), where
    for key, inner in schema["properties"].items():
        _compare(document, inner, hints[key], f"{where}.{key}")
    return None


@pytest.mark.parametrize("key", [".", "..", "a/../b", "%2E"])
def test_a_key_is_one_part_of_the_address_whatever_it_holds(key):
    """`..` would be the agent itself, and `.` the list of its keys."""
    request = call("DELETE", "agents/{agent}/kv/{key}").request(CallArguments(path={"agent": "ada", "key": key}))
    with httpx2.Client(base_url="http://flux") as line:
        path = line.build_request(request.method, request.url).url.raw_path.decode()
    before, _, last = path.rpartition("/")
    assert (before, unquote(last)) == ("/api/v1/agents/ada/kv", key)
