"""MCP over HTTP: the SDK's client with both protocol revisions, and HTTP errors for other requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.instances import Answer, Instance
from tests.mcp.driver import Driver, over_http
from tests.mcp.test_stdio import USUAL

pytestmark = pytest.mark.xdist_group("mcp-server")

NEW, OLD = "2026-07-28", "2025-11-25"
META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(scope="module", params=["auto", "legacy"])
def client(server: Instance, request: pytest.FixtureRequest) -> Iterator[Driver]:
    driver = over_http(server, mode=request.param)
    assert driver.client.protocol_version == (NEW if request.param == "auto" else OLD)
    yield driver
    driver.close()


def test_every_usual_tool(client: Driver) -> None:
    assert list(client.tools()) == USUAL
    assert client.call("flux_onboard")["agent"] == "assistant"
    stored = client.call("flux_store", content=f"The door speaks {client.client.protocol_version}.")
    answer = client.call("flux_retrieve", query=f"Which {client.client.protocol_version} does the door speak?")
    assert stored["grain_id"] in [one["id"] for one in answer["grains"]]
    vote = client.call("flux_feedback", trace_id=answer["trace_id"], grain_id=stored["grain_id"], useful=True)
    assert vote["status"] == "recorded"
    assert client.call("flux_health")["status"] == "healthy"
    assert client.call("flux_list_grains", limit=1)["count"] == 1
    assert client.call("flux_pending_feedback")["pending"] == []
    assert client.refused("flux_store", banana=1)[0] == "invalid"
    text = client.ask(lambda one: one.read_resource("flux://onboarding"))
    assert "flux_retrieve" in text.contents[0].text
    assert len(client.ask(lambda one: one.list_prompts()).prompts) == 2


def post(server: Instance, method: str = "tools/list", params: dict[str, Any] | None = None, **headers: str) -> Answer:
    """A message of the newer revision, with any headers."""
    params = {**(params or {}), "_meta": META}
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    given = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": NEW, "Mcp-Method": method}
    if "name" in params:
        given["Mcp-Name"] = params["name"]
    return server.call("POST", "/mcp", message, door="mcp", headers={**given, **headers})


def test_the_newer_revision_keeps_nothing(server: Instance) -> None:
    answer = post(server)
    assert answer.status == 200 and "mcp-session-id" not in answer.headers
    assert len(answer.json()["result"]["tools"]) == len(USUAL)


@pytest.mark.parametrize(
    ("method", "params", "headers"),
    [
        ("tools/list", {}, {"Mcp-Method": "tools/call"}),
        ("tools/call", {"name": "flux_health", "arguments": {}}, {"Mcp-Name": "flux_store"}),
        ("tools/list", {}, {"MCP-Protocol-Version": "2027-01-01"}),
    ],
)
def test_a_header_that_says_otherwise_than_the_body_is_refused(
    server: Instance, method: str, params: dict[str, Any], headers: dict[str, str]
) -> None:
    answer = post(server, method, params, **headers)
    assert answer.status == 400
    assert answer.json()["error"]["code"] in (-32020, -32022)


def test_neither_revision_has_a_session_or_a_stream(server: Instance) -> None:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    }
    headers = {"Accept": "application/json, text/event-stream"}
    answer = server.call("POST", "/mcp", message, door="mcp", headers=headers)
    assert answer.json()["result"]["protocolVersion"] == OLD and "mcp-session-id" not in answer.headers
    for method in ("GET", "DELETE"):
        answer = server.call(method, "/mcp", door="mcp")
        assert (answer.status, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    "given", ["", "Basic YTpi", "Bearer flux_AAAAAAAA_" + "x" * 43, "Bearer eyJhbGciOiJub25lIn0.e30."]
)
def test_who_is_nobody_is_told_where_to_read_on(server: Instance, given: str) -> None:
    answer = post(server, Authorization=given)
    address = f"{server.state['urls']['mcp']}/.well-known/oauth-protected-resource/mcp"
    assert answer.status == 401
    assert f'resource_metadata="{address}"' in answer.headers["www-authenticate"]
    assert answer.json()["error"]["data"]["code"] == "unauthenticated"


def test_a_token_in_the_address_is_none(server: Instance) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
    answer = server.call(
        "POST", f"/mcp?access_token={server.token}", message, door="mcp", headers={"Authorization": "Bearer"}
    )
    assert answer.status == 401


def test_what_a_client_can_read_about_the_door(server: Instance) -> None:
    for path in ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"):
        found = server.call("GET", path, door="mcp").json()
        assert found["resource"] == f"{server.state['urls']['mcp']}/mcp"
        assert "authorization_servers" not in found  # no server issues tokens: people mint them
        assert found["bearer_methods_supported"] == ["header"]
        assert "grains.read" in found["scopes_supported"]


def test_a_capability_that_is_missing_is_named(server: Instance) -> None:
    reader = _token(server, "reader", "grains.read")
    answer = post(
        server, "tools/call", {"name": "flux_store", "arguments": {"content": "x"}}, Authorization=f"Bearer {reader}"
    )
    assert answer.status == 403
    assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
    assert 'scope="grains.write"' in answer.headers["www-authenticate"]
    assert answer.json()["id"] == 7 and answer.json()["error"]["message"].startswith("forbidden: ")
    said = server.command("flux_audit", "tail", "--json", "--space", "main").stdout
    assert any(
        one["action"] == "tools.flux_store" and one["outcome"] == "refused" for one in json.loads(said)["entries"]
    )


def test_only_what_the_caller_may_call_is_listed(server: Instance) -> None:
    driver = over_http(server, _token(server, "lister", "grains.read"))
    try:
        assert list(driver.tools()) == ["flux_onboard", "flux_retrieve", "flux_list_grains"]
    finally:
        driver.close()


def test_a_token_revoked_in_mid_session_is_seen_by_the_next_call(server: Instance) -> None:
    token = _token(server, "leaver", "grains.read")
    driver = over_http(server, token, mode="legacy")
    try:
        driver.call("flux_retrieve", query="anything")
        server.command("flux_token", "revoke", token.split("_")[1])
        with pytest.raises(Exception, match="unauthenticated: "):
            driver.try_call("flux_retrieve", query="anything")
    finally:
        driver.close()


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:7464"])
def test_a_name_that_is_not_ours(server: Instance, host: str) -> None:
    for path in ("/mcp", "/.well-known/oauth-protected-resource"):
        answer = server.call("POST" if path == "/mcp" else "GET", path, {}, door="mcp", headers={"Host": host})
        assert (answer.status, answer.json()["code"]) == (400, "bad_host")


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://localhost:1",
        "http://localhost",
        "https://127.0.0.1",
        "file://",
        "http://a@localhost:{port}",
    ],
)
def test_a_page_of_another_origin(server: Instance, origin: str) -> None:
    """Judged by itself: with a Host that says the same it is no better."""
    port = server.state["ports"]["mcp"]
    assert post(server, Origin=origin.format(port=port)).status == 403
    both = post(server, Origin="http://evil.example", Host="evil.example")
    assert both.status == 400


def test_a_page_of_this_door_may_ask(server: Instance) -> None:
    assert post(server, Origin=f"http://localhost:{server.state['ports']['mcp']}").status == 200


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"5", b'{"jsonrpc":"2.0"}', b"[" * 100_000, b"\xff\xfe", b'{"jsonrpc":"2.0","id":1,"method":5}'],
)
@pytest.mark.parametrize("revision", [NEW, OLD])
def test_what_is_no_message(server: Instance, body: bytes, revision: str) -> None:
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": revision}
    answer = server.call("POST", "/mcp", body, door="mcp", headers=headers)
    assert 400 <= answer.status < 500
    assert post(server).status == 200


def test_a_message_that_is_too_long(server: Instance) -> None:
    answer = server.call("POST", "/mcp", b" " * (8 * 1024 * 1024 + 1), door="mcp")
    assert answer.status == 413


def test_every_other_address_is_not_here(server: Instance) -> None:
    for path in ("/", "/mcp/", "/store", "/.well-known/oauth-authorization-server", "/admin/"):
        assert server.call("GET", path, door="mcp").status == 404


def _token(server: Instance, name: str, *capabilities: str) -> str:
    given = " ".join(f"--capability {one}" for one in capabilities)
    made = server.commands(f"flux_agent create {name} {given}", f"flux_token mint {name} --json")
    return str(json.loads(made[1])["token"])
