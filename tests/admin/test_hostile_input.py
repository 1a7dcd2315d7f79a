"""Invalid input in addresses, searches, filters and forms: a clear answer, never a server error."""

from __future__ import annotations

import pytest

from tests.admin.conftest import list_of, pages, words
from tests.dashboard.conftest import send

NUMBERS = ["0", "-1", "9" * 19, "9" * 400, "x", "1.5", "1e9", "%00", "1%00", "..", "%F0%9F%92%A9", "_5F", "a/b", "'--"]
NONSENSE = [
    "",
    "\0",
    "x\0y",
    "💩",
    "\ud7ff",
    "'; DROP TABLE x; --",
    "%",
    "_" * 50,
    "a" * 10_000,
    "a " * 5_000,
    '"',
    "\\",
]


def test_rows_that_cannot_be(house):
    client = house.client("administrator")
    for page in pages():
        for number in NUMBERS:
            answer = client.get(f"{list_of(page)}{number}/change/")
            assert answer.status_code in (301, 302, 404), (page, number)


@pytest.mark.parametrize("role", ["viewer", "administrator"])
def test_searches_for_nonsense(house, role):
    client = house.client(role)
    for page in ("accounts.agent", "accounts.token", "accounts.auditentry", "fluxcore.job", "grains.grain"):
        for text in NONSENSE:
            answer = client.get(list_of(page), {"q": text}, follow=True)
            assert answer.status_code == 200, (page, text[:20])
    assert "at most 200 characters" in client.get(list_of("grains.grain"), {"q": "a" * 10_000}).content.decode()
    assert "Nothing matches" in words(client.get(list_of("grains.grain"), {"q": "no such words anywhere"}))
    assert "under the mat" in words(client.get(list_of("grains.grain"), {"q": "SECRET mat"}))


@pytest.mark.parametrize("longest", [500, pytest.param(10_000, marks=pytest.mark.torture)])
def test_filters_pages_and_orders_of_nonsense(house, longest):
    client = house.client("administrator")
    for page, found in pages().items():
        names = [one.parameter_name for one in found.list_filter]
        for name in [*names, "unknown", "o", "p", "e", "all", "_facets", "_popup", "_to_field", "q\0"]:
            text = "x\0y💩" + "a" * (10_000 if name == "unknown" else longest)  # every link repeats it
            answer = client.get(list_of(page), {name: text})
            assert answer.status_code in (200, 302), (page, name)
        for query in ("o=9.-9..x.-0", f"p={'9' * 5000}", "p=-1", "p=2", "e=1&e=2", "e=1&x=1"):
            assert client.get(f"{list_of(page)}?{query}").status_code in (200, 302), (page, query)


@pytest.mark.parametrize(
    "day", ["yesterday", "2026-13-01", "0000-00-00", "0001-01-01", "9999-12-31", "2026-W99", "-1", "2026-01-01T00:00"]
)
def test_days_that_are_none(house, day):
    client = house.client("viewer")
    for name in ("from", "until"):
        assert client.get(list_of("accounts.auditentry"), {name: day}, follow=True).status_code == 200


def test_days_narrow_the_audit(house):
    client = house.client("viewer")
    for query, there in (("from=2020-01-01", True), ("until=2020-01-01", False), ("until=2999-01-01", True)):
        assert ("agent:alice" in words(client.get(f"{list_of('accounts.auditentry')}?{query}"))) == there, query


def test_forms_full_of_nonsense(house):
    client = house.client("administrator")
    for page, act, names in (
        ("accounts.agent", "mint", ("ceiling", "expires_at", "note", "reason")),
        ("accounts.agent", "grant", ("capability", "expires_at", "reason")),
        ("accounts.agent", "capabilities", ("capabilities", "reason")),
        ("accounts.agent", "trust", ("trust", "reason")),
        ("accounts.grantrequest", "accept", ("expires_at", "reason")),
        ("accounts.user", "role", ("space", "role", "reason")),
    ):
        for text in ("x\0y", "💩", "a" * 10_000, "\n" * 2000):
            fields = {**dict.fromkeys(names, text), "reason": "x"}
            answer = send(client, house.address(page, act=act), **fields)
            assert answer.status_code in (302, 403, 409, 422), (page, act, text[:20], answer.status_code)
            answer = send(client, house.address(page, act=act), **dict.fromkeys(names, "ai_stated"), _preview=text)
            assert answer.status_code < 500, (page, act, text[:20])
    for page in ("accounts.space", "accounts.agent", "accounts.user", "accounts.membership", "accounts.grant"):
        for text in ("x\0y", "💩", "a" * 10_000):
            names = ("space", "name", "username", "role", "agent", "capability", "capabilities", "parent", "trust")
            answer = send(client, f"{list_of(page)}add/", reason="x", **dict.fromkeys(names, text))
            assert answer.status_code in (404, 422), (page, text[:20], answer.status_code)


def test_the_preview_takes_anything(house):
    client = house.client("viewer")
    for text in ("\0", "💩", "a" * 10_000, "memory.read:" + "*" * 600, "\n".join(f"bb.read:{n}/*" for n in range(300))):
        for name in ("capabilities", "names", "agent", "space"):
            answer = send(client, "/admin/capabilities/", **{name: text})
            assert answer.status_code in (200, 422), (name, text[:20])
        assert client.get("/admin/capabilities/", {"agent": text}).status_code == 200


def test_what_others_wrote_is_shown_as_text(house):
    from accounts.models import GrantRequest, Token
    from memory.grains.models import Grain

    evil = "<script>alert(1)</script>"
    Grain.objects.update(text=evil)
    Token.objects.update(note=evil)
    GrantRequest.objects.update(reason=evil)
    client = house.client("viewer")
    for page in ("grains.grain", "accounts.token", "accounts.grantrequest"):
        for path in (list_of(page), house.address(page)):
            text = client.get(path).content.decode()
            assert evil not in text and "&lt;script&gt;" in text, path
