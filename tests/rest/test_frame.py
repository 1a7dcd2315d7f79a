"""What all REST calls share: addresses, aliases, methods, request ids, the shape of errors."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import URLPattern

from fluxcore import errors
from memory.api import urls
from tests.rest.routes import ROUTES, plain, refused

pytestmark = pytest.mark.either_database  # addresses, methods and headers

ALL = ("grains.read", "grains.write", "health.read", "metrics.read")


def test_the_table_of_routes_is_complete():
    methods = ("get", "post", "put", "patch", "delete")
    calls = {
        f"{method.upper()} {route}" for route, view in urls.CALLS for method in methods if hasattr(view.cls, method)
    }
    assert set(ROUTES) == calls


def test_every_address_is_a_call_an_alias_or_the_documentation():
    patterns = list(_addresses(urls.urlpatterns))
    calls = [prefix + route for prefix in ("", "api/v1/") for route, _ in urls.CALLS]
    others = [pattern for pattern in patterns if pattern not in calls]
    assert len(patterns) == len(calls) + 3
    assert [other.lstrip("^").split("(")[0] for other in others] == ["api/v1/openapi.json", "api/v1/docs", "static/"]


def _addresses(patterns, prefix=""):
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            yield prefix + str(pattern.pattern)
        else:
            yield from _addresses(pattern.url_patterns, prefix + str(pattern.pattern))


@pytest.mark.parametrize("capabilities", [ALL, ()])
def test_the_bare_path_and_the_versioned_one_give_equal_answers(make_token, as_agent, cases, capabilities):
    writer = as_agent(make_token("writer"))
    grain = writer.post("/store", {"content": "here before"}).json()["grain_id"]
    api = as_agent(make_token("caller", capabilities=capabilities))
    headers = {"Idempotency-Key": "alias", "X-Request-Id": "alias"}
    for name, route in ROUTES.items():
        with cases.case(name):
            bare, versioned = (plain(route.call(api, prefix, grain, headers)) for prefix in ("/", "/api/v1/"))
            if name == "GET metrics" and capabilities:
                # The numbers move with every request; the kinds of numbers do not.
                bare, versioned = (set(re.findall(rb"(?m)^# TYPE .*", content)) for _, _, content in (bare, versioned))
            if name == "GET health" and capabilities:
                # How long the oldest job has waited by now.
                for *_, body in (bare, versioned):
                    body["queue"].pop("oldest_wait_seconds")
            assert bare == versioned


def test_head_is_get_without_a_body(make_token, as_agent, cases):
    api = as_agent(make_token(capabilities=ALL))
    grain = api.post("/store", {"content": "x"}).json()["grain_id"]
    for name, route in ROUTES.items():
        if route.method != "GET":
            continue
        with cases.case(name):
            get = api.get(route.url("/", grain))
            head = api.client.head(route.url("/", grain), headers=api._headers(None))
            assert (head.status_code, head.headers["Content-Type"]) == (get.status_code, get.headers["Content-Type"])


METHODS = ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FROB", "POST", "GET")


def test_other_methods_are_refused_and_the_right_ones_named(make_token, as_agent, cases):
    api = as_agent(make_token(capabilities=ALL))
    for name, route in ROUTES.items():
        own = {other.method for other in ROUTES.values() if other.route == route.route}
        for method in METHODS:
            if method in own:
                continue
            with cases.case(f"{method} to {name}"):
                answer = api.client.generic(method, route.url("/", "x"), headers=api._headers(None))
                refused(answer, 405, "method_not_allowed")
                assert own <= set(answer.headers["Allow"].split(", "))


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/api",
        "/api/v1",
        "/api/v2/store",
        "/store/",
        "/STORE",
        "/store/batch/",
        "/grains/",
        "/admin/",
        "/admin",
        "/enrol/x",
        "/mcp",
        "/static/",
        "/static/admin/css/base.css",
        "/static/../manage.py",
        "/static/drf_spectacular_sidecar/",
        "/static/drf_spectacular_sidecar/../../etc/passwd",
        "/static/drf_spectacular_sidecar/%2e%2e/%2e%2e/secret",
        "/static/drf_spectacular_sidecar/a/%2e%2e/b",
        "/static/drf_spectacular_sidecar/%00",
        "/static/drf_spectacular_sidecar/no-such-file.js",
        "/store%00",
        "/.env",
        "/" + "a" * 8000,
        "/%ff%fe",
        "/%F0%9F%A6%8A",
        "/store;x=1",
        "/store%2Fbatch%2F",
        "/*",
    ],
)
def test_other_addresses_are_not_here(api, path):
    refused(api.get(path), 404, "not_found")


def test_nobody_learns_addresses_without_a_token_that_somebody_with_one_does_not(db, as_agent):
    refused(as_agent(None).get("/nothing"), 404, "not_found")


# Request ids ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["a", "req-1", "A.b_c-9", "x" * 64])
def test_a_sane_request_id_is_echoed(db, as_agent, given):
    assert as_agent(None).get("/health", headers={"X-Request-Id": given}).headers["X-Request-Id"] == given
    assert as_agent(None).get("/grains", headers={"X-Request-Id": given}).json()["request_id"] == given


@pytest.mark.parametrize(
    "given",
    ["", " ", "x" * 65, "a b", "a\tb", "é", "a/b", "<script>", "a\r\nSet-Cookie: x=1", "flux_abcdefgh_" + "s" * 43],
)
def test_any_other_request_id_is_replaced(db, as_agent, given):
    answer = as_agent(None).get("/grains", headers={"X-Request-Id": given})
    found = answer.headers["X-Request-Id"]
    assert re.fullmatch(r"[0-9a-f]{16}", found)
    assert answer.json()["request_id"] == found
    assert "Set-Cookie" not in answer.headers


def test_each_request_has_an_id_of_its_own(db, as_agent):
    found = {as_agent(None).get("/health").headers["X-Request-Id"] for _ in range(50)}
    assert len(found) == 50


# Errors --------------------------------------------------------------------------------------------


def test_the_error_table_has_unique_codes_and_sane_statuses():
    rows = errors.table()
    assert len({row.code for row in rows}) == len(rows) > 20
    for row in rows:
        assert re.fullmatch(r"[a-z][a-z_]*[a-z]", row.code)
        assert 400 <= row.status <= 599
        assert 64 <= row.exit_status <= 78  # sysexits
        assert row.message.endswith(".")
        # A status of 500 is a bug of ours and never a caller's.
        assert row.status != 500 or row.exit_status >= 70
    assert [row.code for row in rows if row.status == 500 and row.__module__ == "fluxcore.errors"] == ["internal"]


def test_an_unexpected_failure_says_nothing_of_its_cause(api, monkeypatch, caplog):
    from memory.grains import select

    def explode(*args, **kwargs):
        raise RuntimeError("the memory of a customer")

    monkeypatch.setattr(select, "page", explode)
    answer = api.get("/grains", headers={"X-Request-Id": "find-me"})
    assert refused(answer, 500, "internal") == {}
    assert "customer" not in answer.content.decode() + caplog.text
    assert "RuntimeError" in caplog.text  # but the operator learns what and where


def test_a_failure_in_the_framework_itself_has_the_same_shape(db, monkeypatch):
    from memory.api import middleware

    def explode(request):
        raise RuntimeError("a header of a customer")

    monkeypatch.setattr(middleware, "_refuse_hostile", explode)
    answer = Client(raise_request_exception=False).get("/health")
    refused(answer, 500, "internal")
    assert b"customer" not in answer.content


def test_a_refusal_without_a_token_names_the_scheme(db, as_agent):
    answer = as_agent(None).get("/grains")
    refused(answer, 401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_every_answer_forbids_sniffing_and_caching_and_has_a_length(api):
    for path in ("/", "/health", "/grains", "/nothing", "/api/v1/openapi.json", "/api/v1/docs"):
        answer = api.get(path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        assert int(answer.headers["Content-Length"]) == len(answer.content)


@pytest.mark.parametrize(
    "accept", ["*/*", "application/json", "application/*", "text/html, */*;q=0.1", "Application/JSON"]
)
def test_it_answers_whoever_takes_json(api, accept):
    assert api.get("/grains", headers={"Accept": accept}).status_code == 200


@pytest.mark.parametrize("accept", ["text/html", "image/*", "application/xml", "x", ", ,"])
def test_it_refuses_whoever_rules_json_out(api, accept):
    refused(api.get("/grains", headers={"Accept": accept}), 406, "not_acceptable")


def test_the_root_says_where_to_read_on(db, as_agent):
    body = as_agent(None).get("/").json()
    assert body == {"name": "Flux Memory", "api": "/api/v1/", "health": "/health", "docs": "/api/v1/docs"}
    assert [as_agent(None).get(body[name]).status_code for name in ("health", "docs")] == [200, 200]
