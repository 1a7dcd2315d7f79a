"""Security of the dashboard server: headers of every kind of answer, cookies, CSRF and origins, in both profiles."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http.cookies import Morsel, SimpleCookie
from urllib.parse import urlencode, urlsplit

import pytest

from dashboard.middleware import HEADERS, POLICY
from tests.instances import ROOT, Instance
from tests.live_feeds import handshake_refusal

pytestmark = pytest.mark.xdist_group("perimeter")  # one instance of each profile serves all tests

NAME = "flux.example"
EXPECTED = {
    "Content-Security-Policy": POLICY,
    "Permissions-Policy": HEADERS["Permissions-Policy"],
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
FORM = "application/x-www-form-urlencoded"


@dataclass
class Said:
    status: int
    headers: list[tuple[str, str]]
    text: str

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    @property
    def cookies(self) -> dict[str, Morsel[str]]:
        found: dict[str, Morsel[str]] = {}
        for line in self.all("Set-Cookie"):
            found.update(SimpleCookie(line))
        return found


@dataclass
class House:
    """A running dashboard server, requested as by a browser of the profile: behind TLS or over plain HTTP."""

    instance: Instance
    https: bool

    @property
    def origin(self) -> str:
        return f"https://{NAME}" if self.https else f"http://{NAME}:{self.instance.state['ports']['people']}"

    @property
    def own(self) -> dict[str, str]:
        host = urlsplit(self.origin).netloc
        return {"Host": host, **({"X-Forwarded-Proto": "https"} if self.https else {})}

    def ask(self, path: str, method: str = "GET", form: dict[str, str] | None = None, **headers: str) -> Said:
        line = http.client.HTTPConnection("127.0.0.1", self.instance.state["ports"]["people"], timeout=30)
        body = urlencode(form) if form is not None else None
        given = {**self.own, **({"Content-Type": FORM} if form is not None else {})}
        given.update({name.replace("_", "-"): value for name, value in headers.items()})
        try:
            line.request(method, path, body, given)
            answer = line.getresponse()
            return Said(answer.status, answer.getheaders(), answer.read().decode(errors="replace"))
        finally:
            line.close()


@pytest.fixture(scope="module", params=["off", "on"])
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    instance = Instance(
        tmp_path_factory.mktemp(f"perimeter-{request.param}"),
        "walls",
        FLUX_HTTPS=request.param,
        FLUX_ALLOWED_HOSTS=NAME,
    )
    try:
        instance.with_tables().start()
        yield House(instance, request.param == "on")
    finally:
        if instance.process is not None and instance.process.poll() is None:
            instance.stop()


def socket_refusal(house: House) -> Said:
    address = f"ws://127.0.0.1:{house.instance.state['ports']['people']}/live?space=main"
    answer = handshake_refusal(address, **house.own, Origin=house.origin)
    return Said(answer.status, list(answer.headers.items()), answer.body.decode())


KINDS = {
    "page": (200, lambda house: house.ask("/sign-in")),
    "front page": (200, lambda house: house.ask("/")),
    "404": (404, lambda house: house.ask("/nothing")),
    "closed link": (404, lambda house: house.ask("/enrol/nonsense")),
    "403 csrf": (403, lambda house: house.ask("/sign-in", "POST", {"username": "a"}, Origin=house.origin)),
    "405": (405, lambda house: house.ask("/", "POST", {}, **cleared(house))),
    "400 host": (400, lambda house: house.ask("/", Host="evil.example")),
    "redirect to sign in": (302, lambda house: house.ask("/admin/")),
    "redirect of the icon": (302, lambda house: house.ask("/favicon.ico")),
    "health": (200, lambda house: house.ask("/health")),
    "static": (200, lambda house: house.ask("/static/dashboard/flux.css")),
    "static 404": (404, lambda house: house.ask("/static/dashboard/none.css")),
    "socket refusal": (401, socket_refusal),
    "unreadable path": (404, lambda house: house.ask("/%ff%00")),
}


def cleared(house: House) -> dict[str, str]:
    """What gets a form past CSRF."""
    cookie, token = csrf(house)
    return {"Cookie": cookie, "X_CSRFToken": token, "Origin": house.origin}


def csrf(house: House) -> tuple[str, str]:
    page = house.ask("/sign-in")
    [(name, morsel)] = [(key, value) for key, value in page.cookies.items() if key.endswith("_csrf")]
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert token
    return f"{name}={morsel.value}", token.group(1)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_answer_carries_every_header_once(house: House, kind: str) -> None:
    status, ask = KINDS[kind]
    answer = ask(house)
    assert answer.status == status
    for name, value in EXPECTED.items():
        assert answer.all(name) == [value], name
    assert ["no-store" in found for found in answer.all("Cache-Control")] == [kind != "static"]
    assert not answer.all("Server")
    if house.https and kind != "socket refusal" and kind != "400 host":
        assert answer.all("Strict-Transport-Security") == ["max-age=31536000; includeSubDomains; preload"]
    if not house.https:
        assert not answer.all("Strict-Transport-Security")


def test_the_policy_names_each_source_and_allows_nothing_inline_or_foreign() -> None:
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules["default-src"] == rules["object-src"] == rules["base-uri"] == rules["frame-ancestors"] == "'none'"
    assert all(
        rules[name] == "'self'" for name in ("script-src", "style-src", "connect-src", "font-src", "form-action")
    )
    assert rules["img-src"] == "'self' data:"
    assert not re.search(r"unsafe|http|\*|blob|eval", POLICY)
    for feature in ("camera", "microphone", "geolocation", "payment", "usb"):
        assert f"{feature}=()" in HEADERS["Permissions-Policy"]


def test_cookies_carry_the_flags_of_their_profile(house: House) -> None:
    link = urlsplit(house.instance.state["enrolment"]).path
    cookies = house.ask(link).cookies
    prefix = "__Host-" if house.https else ""
    assert set(cookies) == {f"{prefix}flux_walls_session", f"{prefix}flux_walls_csrf"}
    for cookie in cookies.values():
        assert cookie["path"] == "/" and not cookie["domain"]
        assert bool(cookie["httponly"]) and cookie["samesite"] == "Lax"
        assert bool(cookie["secure"]) is house.https
        assert len(cookie.value) >= 32


def wrong_sign_in(house: House, **headers: str) -> int:
    cookie, token = csrf(house)
    form = {"csrfmiddlewaretoken": token, "username": "nobody", "password": "wrong password here"}
    return house.ask("/sign-in", "POST", form, Cookie=cookie, **headers).status


def test_a_form_is_taken_from_our_own_pages_only(house: House) -> None:
    assert wrong_sign_in(house, Origin=house.origin) == 401  # judged by its content
    for origin in ("null", "http://evil.example", f"{house.origin}.evil.example", "https://localhost", "http://x"):
        assert wrong_sign_in(house, Origin=origin) == 403, origin
    other_scheme = house.origin.replace("https:", "http:") if house.https else house.origin.replace("http:", "https:")
    assert wrong_sign_in(house, Origin=other_scheme) == 403
    # Over TLS a form without any origin must at least say which page it was on.
    assert wrong_sign_in(house) == (403 if house.https else 401)
    if house.https:
        assert wrong_sign_in(house, Referer=f"{house.origin}/sign-in") == 401
        assert wrong_sign_in(house, Referer="https://evil.example/") == 403


def test_a_token_of_another_visitor_does_not_fit(house: House) -> None:
    cookie, _ = csrf(house)
    _, token = csrf(house)
    form = {"csrfmiddlewaretoken": token, "username": "nobody", "password": "wrong password here"}
    assert house.ask("/sign-in", "POST", form, Cookie=cookie, Origin=house.origin).status == 403


def test_what_comes_in_clear_is_sent_to_tls_where_there_is_tls(house: House) -> None:
    answer = house.ask("/sign-in?next=/admin/", X_Forwarded_Proto="http")
    if house.https:
        assert (answer.status, answer.all("Location")) == (301, [f"https://{NAME}/sign-in?next=/admin/"])
        assert not answer.cookies
        for name in ("Content-Security-Policy", "X-Content-Type-Options"):
            assert answer.all(name) == [EXPECTED[name]]
        clear = f"ws://127.0.0.1:{house.instance.state['ports']['people']}/live?space=main"
        assert handshake_refusal(clear, Host=NAME, Origin=f"http://{NAME}").status == 403
    else:
        assert answer.status == 200


def test_the_agents_doors_answers_are_plain_data_that_nobody_keeps(house: House) -> None:
    for door, path in (("mcp", "/health"), ("mcp", "/nothing"), ("rest", "/nothing")):
        answer = house.instance.call("GET", path, door=door, headers={"Host": "localhost"})
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-type"].startswith("application/json")
        assert "set-cookie" not in answer.headers


def test_a_domain_and_all_below_it_is_trusted_in_djangos_spelling(tmp_path) -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            "import json; from fluxsite import settings; print(json.dumps("
            "[settings.ALLOWED_HOSTS[3:], settings.CSRF_TRUSTED_ORIGINS]))",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={"FLUX_HOME": str(tmp_path), "FLUX_HTTPS": "on", "FLUX_ALLOWED_HOSTS": "flux.lan, .example.com"},
    )
    assert json.loads(said.stdout) == [["flux.lan", ".example.com"], ["https://flux.lan", "https://*.example.com"]]
