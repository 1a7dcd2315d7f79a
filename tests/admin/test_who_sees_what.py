"""Visibility of pages and rows: viewers, operators and owners of a space, and administrators."""

from __future__ import annotations

import re

import pytest

from tests.admin.conftest import ROLES, entries, list_of, pages, words

# Who sees what is decided in Python; test_statement_counts.py and test_hostile_input.py open every list on both.
pytestmark = pytest.mark.either_database

# What the content policy forbids: scripts, styles and handlers in a page, and whatever is loaded from elsewhere.
INLINE = re.compile(
    r"<script(?![^>]*(?:\bsrc=|application/json))|<style|<\w+\s[^>]*?(?:\sstyle=|\son\w+=|src=.https?:)"
)
# The least role that opens a page's list.
OPENS = {
    "accounts.space": "viewer",
    "accounts.agent": "viewer",
    "accounts.token": "viewer",
    "accounts.grant": "viewer",
    "accounts.grantrequest": "viewer",
    "accounts.membership": "viewer",
    "accounts.auditentry": "viewer",
    "fluxcore.job": "viewer",
    "fluxcore.event": "viewer",
    "grains.grain": "viewer",
    "grains.conduit": "viewer",
    "grains.entry": "viewer",
    "grains.vector": "viewer",
    "grains.transition": "viewer",
    "grains.tombstone": "viewer",
    "grains.removal": "viewer",
    "grains.cluster": "viewer",
    "grains.member": "viewer",
    "grains.clusteruse": "viewer",
    "grains.trace": "operator",
    "grains.vote": "operator",
    "health.warning": "viewer",
    "keyvalue.namespace": "viewer",
    "keyvalue.item": "viewer",
    "keyvalue.lock": "viewer",
    "keyvalue.task": "viewer",
    "artifacts.store": "viewer",
    "artifacts.file": "viewer",
    "artifacts.filechange": "viewer",
    "artifacts.message": "viewer",
    "review.reviewitem": "viewer",
    "accounts.user": "owner",
    "accounts.session": "administrator",
    "accounts.enrolment": "administrator",
    "accounts.guesscount": "administrator",
    "accounts.refusalminute": "administrator",
}
# A word that stands only on rows of the other space.
FOREIGN = {
    "accounts.space": "office",
    "accounts.agent": "bob",
    "accounts.token": "bob",
    "accounts.grant": "bob",
    "accounts.grantrequest": "bob",
    "accounts.membership": "olaf",
    "accounts.auditentry": "bob",
    "fluxcore.job": "office",
    "fluxcore.event": "bob",
    "grains.grain": "office",
    "accounts.user": "olaf",
    "grains.conduit": "office",
    "grains.entry": "office",
    "grains.vector": "office",
    "grains.trace": "office",
    "grains.vote": "office",
    "grains.transition": "office",
    "grains.tombstone": "office",
    "grains.removal": "office",
    "grains.cluster": "office",
    "grains.member": "office",
    "grains.clusteruse": "office",
    "health.warning": "office",
    "keyvalue.namespace": "office",
    "keyvalue.item": "office",
    "keyvalue.lock": "office",
    "keyvalue.task": "office",
    "artifacts.store": "office",
    "artifacts.file": "office",
    "artifacts.filechange": "office",
    "artifacts.message": "office",
    "review.reviewitem": "office",
}
EVERYBODY = pytest.mark.parametrize("role", ROLES)
MEMBERS = pytest.mark.parametrize("role", ROLES[:3])


def opens(role: str, page: str) -> bool:
    return ROLES.index(role) >= ROLES.index(OPENS[page])


def test_every_page_is_in_the_table():
    assert set(OPENS) == set(pages())


@EVERYBODY
def test_lists_open_for_those_who_may_read_them_and_the_index_names_no_others(house, role):
    client = house.client(role)
    index = client.get("/admin/").content.decode()
    for page in OPENS:
        answer = client.get(list_of(page))
        assert answer.status_code == (200 if opens(role, page) else 403), page
        assert not INLINE.findall(answer.content.decode()), page
        assert (f'href="{list_of(page)}"' in index) == opens(role, page), page


@MEMBERS
def test_rows_of_another_space_are_in_no_list_no_search_and_no_filter(house, role):
    client = house.client(role)
    for page, word in FOREIGN.items():
        if not opens(role, page):
            continue
        rows = words(client.get(list_of(page)))
        assert word not in rows, page
        if pages()[page].search_fields:
            assert word not in words(client.get(list_of(page), {"q": word})).replace(f'"{word}"', ""), page


@MEMBERS
def test_a_row_of_another_space_is_answered_like_one_that_is_not_there(house, role):
    client = house.client(role)
    for page in FOREIGN:
        if not opens(role, page):
            continue
        foreign = client.get(house.address(page, "office"), follow=True)
        absent = client.get(f"{list_of(page)}987654321/change/", follow=True)
        number = str(house.row(page, "office").pk)
        assert foreign.redirect_chain == absent.redirect_chain, page
        assert re.sub(r"\s", "", words(foreign)).replace(number, "") == re.sub(r"\s", "", words(absent)).replace(
            "987654321", ""
        ), page
        for act in pages()[page].row_actions:
            assert client.get(house.address(page, "office", act.name)).status_code == 404, (page, act.name)


@EVERYBODY
def test_rows_of_ones_own_space_open(house, role):
    client = house.client(role)
    for page in OPENS:
        answer = client.get(house.address(page))
        assert answer.status_code == (200 if opens(role, page) else 403), page
        assert not INLINE.findall(answer.content.decode()), page


def test_an_administrator_sees_the_rows_of_every_space(house):
    client = house.client("administrator")
    for page, word in FOREIGN.items():
        assert word in words(client.get(list_of(page))), page
        assert client.get(house.address(page, "office")).status_code == 200, page


def test_the_space_filter_names_ones_own_spaces_alone(house):
    from accounts.models import Membership, Space
    from fluxcore import clock

    Space.objects.create(name="attic", created_at=clock.now())
    user = house.people["operator"].user
    for space in ("attic",):
        Membership.objects.create(user=user, space=Space.objects.get(name=space), role="viewer", created_at=clock.now())
    client = house.client("operator")
    for page in ("accounts.agent", "accounts.token", "fluxcore.job", "grains.grain", "accounts.membership"):
        text = client.get(list_of(page)).content.decode()
        assert "?space=home" in text and "?space=attic" in text and "space=office" not in text, page
        assert client.get(list_of(page), {"space": "office"})["Location"].endswith("?e=1"), page
        assert client.get(list_of(page), {"space": "attic"}).status_code == 200, page
    chains = client.get(list_of("accounts.auditentry")).content.decode()
    assert house.row("accounts.space").uuid.hex in chains
    assert house.row("accounts.space", "office").uuid.hex not in chains and "chain=instance" not in chains


def test_somebody_without_any_role_sees_an_empty_house(person):
    client = person("nobody", administrator=False).sign_in()
    assert "You have no role in any space yet" in words(client.get("/admin/"))
    for page in pages():
        assert client.get(list_of(page)).status_code == 403, page
    for path in ("/admin/capabilities/", "/admin/accounts/auditentry/chains/", "/admin/accounts/auditentry/export/"):
        assert client.get(path).status_code == 403, path


def test_a_refusal_is_on_the_chain(house):
    house.client("viewer").get(list_of("accounts.session"))
    (entry,) = entries("admin.open", outcome="refused")
    assert entry.actor == "user:viewer-of-home" and entry.object == "/admin/accounts/session/"


def test_owners_see_the_people_of_their_spaces_and_their_roles_there(house):
    from accounts.models import Membership
    from fluxcore import clock

    both = house.people["viewer"].user
    Membership.objects.create(
        user=both, space=house.row("accounts.space", "office"), role="owner", created_at=clock.now()
    )
    text = words(house.client("owner").get(list_of("accounts.user")))
    assert "viewer of home" in text and "of office" not in text and "olaf" not in text and " ada " not in text


def test_sessions_of_visitors_and_what_sessions_hold_are_on_no_page(house):
    from accounts.models import Session

    client = house.client("administrator")
    client.get("/sign-in")
    row = Session.objects.filter(user=house.people["administrator"].user).get()
    for path in (list_of("accounts.session"), f"/admin/accounts/session/{row.pk}/change/"):
        assert row.session_data not in client.get(path).content.decode()
