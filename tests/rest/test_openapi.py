"""The published OpenAPI document and its documentation page."""

from __future__ import annotations

import re

import pytest
from drf_spectacular.validation import validate_schema

from flux.calls import registry
from flux.calls.base import calls_at_places
from fluxcore.errors import table
from memory.api import views
from tests.core.threads import together
from tests.rest.routes import ROUTES

URL = "/api/v1/openapi.json"

# Declared calls with a body; that of a PATCH has a name of its own.
DECLARED = [one.call for one in calls_at_places(registry.calls()) if one.method in ("POST", "PUT")]


@pytest.fixture
def document(db, as_agent):
    answer = as_agent(None).get(URL)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    return answer.json()


def test_it_is_valid_openapi_3_1(document):
    assert document["openapi"] == "3.1.0"
    validate_schema(document)


def test_every_call_is_in_it_once_and_nothing_else(document):
    expected = {("/api/v1/" + call.path, call.method.lower()) for call in ROUTES.values()}
    assert {(path, method) for path, methods in document["paths"].items() for method in methods} == expected
    names = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(set(names)) == len(names)


def test_every_call_says_what_it_does_and_who_may(document):
    for call in ROUTES.values():
        operation = document["paths"]["/api/v1/" + call.path][call.method.lower()]
        assert operation["description"].endswith(".")
        if not call.open:
            assert operation["security"] == [{"token": []}]
            assert {"401", "403"} <= set(operation["responses"])
        else:
            assert {} in operation.get("security", [{}])


def test_every_refusal_has_the_one_shape(document):
    shape = document["components"]["schemas"]["Error"]
    assert set(shape["required"]) == {"code", "message", "details", "request_id"}
    assert set(shape["properties"]["code"]["enum"]) == {row.code for row in table()}
    statuses = {str(row.status) for row in table() if row.status != 500}
    assert set(document["components"]["responses"]) == statuses
    for answer in document["components"]["responses"].values():
        assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Error"}
    used = {
        status
        for methods in document["paths"].values()
        for operation in methods.values()
        for status in operation["responses"]
    }
    assert used - {"200"} == statuses


def test_bodies_take_no_unknown_field(document):
    requests = {name: shape for name, shape in document["components"]["schemas"].items() if name.endswith("Request")}
    assert set(requests) == {
        "StoreRequest",
        "StoreBatchRequest",
        "ItemRequest",
        "AskForGrantRequest",
        "RetrieveRequest",
        "CloseRequest",
        "LabelledRequest",
        *(f"{call.__name__}Request" for call in DECLARED),
        "PatchedPatchKeyRequest",
        "EnvelopesRequest",
    }
    assert all(shape["additionalProperties"] is False for shape in requests.values())


def test_the_limits_of_the_configuration_are_in_it(db, as_agent, configure):
    configure(MAX_GRAINS_PER_CALL=17)
    document = as_agent(None).get(URL).json()
    assert document["components"]["schemas"]["StoreBatchRequest"]["properties"]["items"]["maxItems"] == 17


def test_the_documentation_page_loads_without_the_network(db, as_agent):
    visitor = as_agent(None)
    page = visitor.get("/api/v1/docs", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert page.status_code == 200 and page.headers["Content-Type"].startswith("text/html")
    text = page.content.decode()
    links = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert len(links) >= 4
    for link in links:
        assert link.startswith("/") and not link.startswith("//")
        answer = visitor.get(link)
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        assert answer.status_code == 200 and body
    script = visitor.get(links[-1]).content.decode()
    assert URL in script
    assert not re.search(r"https?://", text + script)


def test_the_document_holds_no_address_of_elsewhere(document):
    assert not re.search(r"https?://", str(document))
    assert "servers" not in document


def test_readers_who_come_together_get_one_document_that_is_made_once(db, as_agent, monkeypatch):
    """Right after a start, building the document changes classes that concurrent builders read."""
    made = []
    generate = views.SchemaGenerator.get_schema
    monkeypatch.setattr(
        views.SchemaGenerator, "get_schema", lambda *given, **named: made.append(1) or generate(*given, **named)
    )
    views._build_document.cache_clear()
    answers = together(9, lambda number: as_agent(None).get(URL))
    assert [answer.status_code for answer in answers] == [200] * 9
    assert len({answer.content for answer in answers}) == len(made) == 1
