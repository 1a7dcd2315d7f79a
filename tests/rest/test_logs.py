"""Nothing a caller says and no token is ever written to a log or a file beside the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rest.conftest import RestInstance

pytestmark = pytest.mark.xdist_group("door")

CAPABILITIES = ["grains.read", "grains.write", "health.read", "metrics.read"]


def speak(door: RestInstance, token: str, mark: str, other: str) -> list[int]:
    """Send the mark in every field of every route, in valid and invalid requests."""
    ask = [
        ("POST", "/store", {"content": f"{mark} one"}, {}),
        ("POST", "/store", {"content": f"{mark} one"}, {"Idempotency-Key": f"{mark}-key"}),
        ("POST", "/store", {"content": f"{mark} other"}, {"Idempotency-Key": f"{mark}-key"}),
        ("POST", "/store", {"content": f"{mark} two", "reason": mark, "caller_id": mark, "client": mark}, {}),
        ("POST", "/store", {"content": f"{mark} two"}, {"X-Caller-Id": mark, "User-Agent": mark, "Referer": mark}),
        ("POST", "/store", {"content": f"{mark}\0"}, {}),
        ("POST", "/store", {"content": mark, mark: mark}, {}),
        ("POST", "/store", {"content": mark, "provenance": mark}, {}),
        ("POST", "/store", {"content": mark * 10_000}, {}),
        ("POST", "/store", f'{{"content": "{mark}"'.encode(), {}),
        ("POST", "/store", f'{{"content": "{mark} \\ud800"}}'.encode(), {}),
        ("POST", "/store", f'{{"{mark}": 1, "{mark}": 2}}'.encode(), {}),
        ("POST", "/store", mark.encode() + b"\xff", {"Content-Type": "text/plain"}),
        ("POST", "/store/batch", {"items": [{"content": f"{mark} three"}, {"content": "", mark: 1}]}, {}),
        ("POST", "/store/batch", {"items": mark}, {}),
        ("GET", "/grains", None, {}),
        ("GET", f"/grains?status={mark}", None, {}),
        ("GET", f"/grains?cursor={mark}", None, {}),
        ("GET", f"/grains?limit={mark}", None, {}),
        ("GET", f"/grains?{mark}=1", None, {}),
        ("GET", f"/grains/{mark}", None, {}),
        ("GET", f"/grains/{token}", None, {}),
        ("GET", f"/{mark}", None, {}),
        ("GET", f"/{token}", None, {}),
        ("GET", f"/static/drf_spectacular_sidecar/../{mark}", None, {}),
        ("GET", f"/static/drf_spectacular_sidecar/{mark}.js", None, {}),
        ("GET", "/grains?" + "&".join(f"{mark}{n}=1" for n in range(1200)), None, {}),
        (mark.upper(), "/store", None, {}),
        ("DELETE", f"/grains/{mark}", None, {}),
        ("GET", "/grains", None, {"Host": f"{mark}.example"}),
        ("GET", "/grains", None, {"Origin": f"http://{mark}.example"}),
        ("GET", "/grains", None, {"X-Long": mark * 2000}),
        ("GET", "/grains", None, {"X-Request-Id": token}),
        ("GET", "/grains", None, {"Accept": mark}),
        ("GET", "/grains", None, {"Authorization": f"Basic {token}"}),
        ("GET", "/grains", None, {"Authorization": f"Bearer {token}x"}),
        ("GET", "/grains", None, {"Authorization": f"Bearer {other}"}),
        ("GET", f"/grains?access_token={token}", None, {"Cookie": f"token={token}"}),
        ("GET", "/health", None, {}),
        ("GET", "/readyz", None, {}),
        ("GET", "/metrics", None, {}),
        ("GET", "/", None, {}),
        ("GET", f"/api/v1/docs?{mark}", None, {}),
        ("GET", "/api/v1/openapi.json", None, {}),
    ]
    return [door.call(method, path, body, token=token, headers=headers).status for method, path, body, headers in ask]


def test_no_file_but_the_database_holds_a_callers_words_and_none_holds_a_token(door: RestInstance):
    made = door.make_agents(("logs", "speaker", CAPABILITIES), ("logs", "weak", []))
    token, weak = made["logs/speaker"], made["logs/weak"]
    mark = "quokkamark"
    codes = speak(door, token, mark, weak) + speak(door, weak, mark, token)
    assert set(codes) >= {200, 400, 401, 403, 404, 405, 406, 409, 415, 422, 431}
    assert max(codes) < 500

    files = [path for path in door.folder.rglob("*") if path.is_file()] + [door.output]
    names = {path.name for path in files}
    assert "flux.log" in names and door.output.name in names
    database = {path for path in files if path.name.startswith("flux.db")}
    if "DATABASE_URL" not in door.environment:
        assert any(holds(path, mark) for path in database)  # the search itself works
    assert mark in " ".join(door.call("GET", "/grains", token=token).body.decode().split())

    words = [mark, mark.upper()]
    secrets = [found.removeprefix("flux_")[9:] for found in (token, weak)]
    assert all(len(secret) == 43 for secret in secrets)
    hits = [(path.name, word) for path in files if path not in database for word in words if holds(path, word)]
    leaks = [(path.name, "a token") for path in files for secret in secrets if holds(path, secret)]
    print(f"{len(codes)} requests, {len(files)} files, {len(hits)} words and {len(leaks)} tokens found")
    assert hits == [] and leaks == []


def test_the_first_token_is_shown_once_and_kept_nowhere(door: RestInstance):
    kept = [path.name for path in door.folder.rglob("*") if path.is_file() and holds(path, door.token[14:])]
    assert kept == []


def holds(path: Path, word: str) -> bool:
    try:
        return word.encode() in path.read_bytes()
    except FileNotFoundError:
        return False  # a message of the queue that was read meanwhile
