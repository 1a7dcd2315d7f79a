"""Files and transcripts over MCP: every tool through the SDK's client, citations that lead to the file, max_tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from accounts import agents, tokens
from accounts.principals import shell
from fluxcore.work import worker
from mcp_bridge import compact, registry, server, store_budgets
from tests.artifacts.conftest import FILES, MESSAGES, Stores
from tests.instances import Instance
from tests.mcp.driver import over_http

TOOLS = {tool.name for tool in registry.load_group("artifacts").tools}
SHA = "0" * 64


@pytest.mark.xdist_group("mcp-server")
def test_every_tool_and_what_it_refuses(server: Instance) -> None:
    """Each of at most eight is called; what is answered keeps to the schemas of the list, which the client checks."""
    held = "".join(f" --capability {one}" for one in (*FILES, *MESSAGES, "health.read"))
    *_, minted = server.commands(
        "flux_space create papers",
        f"flux_agent create alice --space papers --trust privileged{held}",
        "flux_agent tools alice artifacts --space papers",
        "flux_files create notes --space papers --read-only-prefixes rules",
        "flux_token mint alice --space papers --json",
    )
    driver, called = over_http(server, json.loads(minted)["token"]), set[str]()

    def call(name: str, **given: Any) -> Any:
        called.add(name)
        return driver.call(name, store="notes", **given)

    def refused(name: str, **given: Any) -> str:
        return driver.refused(name, **{"store": "notes", **given})[0]

    try:
        listed = set(driver.tools())
        assert listed == TOOLS | {"flux_onboard", "flux_health"} and len(TOOLS) <= 8
        made = call("artifact_write", path="a.md", text="one\ntwo\n", expected_sha="", reason="first")
        assert (made["version"], made["created"]) == (1, True)
        assert call("artifact_append", path="a.md", text="three beans\n")["version"] == 2
        assert call("artifact_read", path="a.md")["text"] == "one\ntwo\nthree beans\n"
        assert call("artifact_read", path="a.md", first=2, last=2)["text"] == "two\n"
        assert call("artifact_read", path="a.md", version=1)["lines"] == 2
        assert [file["path"] for file in call("artifact_list")["files"]] == ["a.md"]
        assert [version["op"] for version in call("artifact_history", path="a.md")["versions"]] == ["append", "create"]
        assert call("artifact_search", query="BEANS")["matches"] == [{"path": "a.md", "line": 3, "text": "three beans"}]
        assert call("transcript_append", messages=[{"role": "user", "content": "hello"}], session="s")["seqs"] == [1]
        assert call("transcript_read", query="HELLO")["messages"][0]["message"]["content"] == "hello"
        assert called == TOOLS

        assert refused("artifact_write", path="a.md", text="lost", expected_sha=SHA) == "conflict"
        assert refused("artifact_append", path="a.md", text="lost", expected_sha=SHA) == "conflict"
        assert refused("artifact_write", path="rules/a.md", text="x") == "read_only"
        assert refused("artifact_append", path="messages.json", text="x") == "reserved_path"
        assert refused("artifact_read", path="../a.md") == "invalid_path"
        assert refused("artifact_read", path="a.md", version=9) == "not_found"
        assert refused("artifact_history", path="/a.md") == "invalid_path"
        assert refused("artifact_list", store="nowhere") == "not_found"
        assert refused("artifact_search", query="") == "invalid"
        assert refused("transcript_append", messages=[]) == "invalid"
        assert refused("transcript_read", store="nowhere") == "not_found"
        assert refused("transcript_read", limit=0) == "invalid"
        assert call("artifact_read", path="a.md")["version"] == 2
    finally:
        driver.close()


@pytest.fixture
def token(make_token: Callable[..., str]) -> str:
    held = make_token(capabilities=("grains.read", "grains.write", *FILES, *MESSAGES))
    agents.set_tools(shell(), space="home", name="alice", tools=["artifacts"])
    return held


@pytest.fixture
def call(token: str) -> Callable[..., Any]:
    """Call a tool and return its answer."""
    context: Any = SimpleNamespace(session=SimpleNamespace(client_params=None))

    def run(tool: str, **given: Any) -> Any:
        answer = server.run_tool(lambda _: tokens.authenticate(token), context, tool, given)
        assert not answer.is_error, answer.content
        return answer.structured_content

    return run


@pytest.mark.django_db(transaction=True)
def test_a_citation_leads_to_its_own_store(token: str, call: Callable[..., Any]) -> None:
    """Stores with the same key in other projects are others, whatever key looks like an id."""
    api = Stores(token)
    others = [{"key": "handbook"}, {"key": "handbook", "project": "p"}, {"key": "9" * 32}]
    refs = [api.post("/stores", {**one, "recallable": True}).json()["store"] for one in others]
    for number, ref in enumerate(refs):
        api.write("plan.md", f"The kelp of field {number} is sown in May.", ref)
        said = {"role": "user", "content": f"The oats of field {number} are sown in June."}
        api.post(f"/stores/{ref}/messages", {"messages": [said]})
    worker.drain()
    cited = set()
    for grain in call("flux_retrieve", query="When are kelp and oats of the fields sown?", k=10)["grains"]:
        where = grain["citation"]
        cited.add((where["store"], grain["kind"]))
        if grain["kind"] == "passage":
            read = call("artifact_read", store=where["store"], path=where["path"], version=where["version"])["text"]
        else:
            found = call("transcript_read", store=where["store"], after=where["message"] - 1, limit=1)
            read = found["messages"][0]["message"]["content"]
        assert read == grain["content"]
    assert cited == {(ref, kind) for ref in ("handbook", *refs[1:]) for kind in ("passage", "message")}


@pytest.fixture
def api(token: str) -> Stores:
    made = Stores(token)
    made.post("/stores", {"key": "notes"})
    return made


@pytest.mark.parametrize("more", [{}, {"max_tokens": 300}])
def test_a_large_file_is_read_in_parts(api: Stores, call: Callable[..., Any], more: dict[str, Any]) -> None:
    text = "".join(f'Line {number} of the "file": ünd so weiter.\n' for number in range(1, 8_001))
    api.write("large.md", text)
    budget = more.get("max_tokens", store_budgets.USUAL_TOKENS) * compact.BYTES_PER_TOKEN
    first, parts = 1, list[str]()
    for _ in range(3):
        part = call("artifact_read", store="notes", path="large.md", first=first, **more)
        assert part["truncated"] and f"first={part['next_first']}" in part["hint"]
        assert len(orjson.dumps(part)) < budget + 1_000
        assert part["text"].endswith("\n") and part["next_first"] == first + part["text"].count("\n")
        parts.append(part["text"])
        first = part["next_first"]
    assert text.startswith("".join(parts)) and len("".join(parts).encode()) > 2 * budget
    end = call("artifact_read", store="notes", path="large.md", first=7_998)
    assert (end["truncated"], end["lines"], "hint" in end) == (False, 8_000, False)


def test_a_line_that_is_too_long_is_cut_and_said_to_be(api: Stores, call: Callable[..., Any]) -> None:
    api.write("one.json", "x" * 100_000 + "\nend\n")
    part = call("artifact_read", store="notes", path="one.json", max_tokens=100)
    assert part["text"].endswith(compact.CUT) and len(part["text"]) <= 300
    assert (part["next_first"], part["truncated"]) == (2, True) and "Line 1 is cut" in part["hint"]
    assert call("artifact_read", store="notes", path="one.json", first=2)["text"] == "end\n"
    assert call("artifact_read", store="notes", path="one.json", max_tokens=40_000)["truncated"] is False


def test_bytes_that_do_not_fit_are_left_out(api: Stores, call: Callable[..., Any]) -> None:
    api.write("a.bin", b"\xff" * 30_000)
    api.write("b.bin", b"\xff" * 300_000)
    part = call("artifact_read", store="notes", path="a.bin")
    assert "base64" not in part and part["truncated"] and "max_tokens=13334" in part["hint"]
    assert len(call("artifact_read", store="notes", path="a.bin", max_tokens=13_334)["base64"]) == 40_000
    assert "REST" in call("artifact_read", store="notes", path="b.bin", max_tokens=50_000)["hint"]


def test_a_long_transcript_is_read_in_parts(api: Stores, call: Callable[..., Any]) -> None:
    said = [{"role": "user", "content": f"{number} " + "word " * 40} for number in range(1, 21)]
    api.post("/stores/notes/messages", {"messages": said})
    newest = call("transcript_read", store="notes", max_tokens=500)
    seqs = [one["seq"] for one in newest["messages"]]
    assert seqs == list(range(21 - len(seqs), 21)) and 1 < len(seqs) < 20 and newest["count"] == len(seqs)
    assert f"before={seqs[0]}" in newest["hint"]
    oldest = call("transcript_read", store="notes", after=0, max_tokens=500)
    assert [one["seq"] for one in oldest["messages"]] == list(range(1, oldest["next_after"] + 1))
    whole = call("transcript_read", store="notes", after=0)
    assert whole["count"] == 20 and whole["next_after"] is None and "hint" not in whole
    api.post("/stores/notes/messages", {"messages": [{"role": "tool", "content": [{"text": "x" * 90_000}]}]})
    (cut,) = call("transcript_read", store="notes", max_tokens=500)["messages"]
    assert cut["cut"] and cut["message"]["role"] == "tool" and len(orjson.dumps(cut)) < 2_500
