"""Django's own views for writing and look-ups: closed for everybody."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib import admin
from django.core import serializers

from accounts.adminsite.modeladmin import FluxModelAdmin
from tests.admin.conftest import ROLES, AdminSpaces, list_of, pages, stale
from tests.dashboard.conftest import send

pytestmark = pytest.mark.either_database  # it stops before it reaches the database

OURS = ("accounts", "artifacts", "fluxcore", "grains", "keyvalue", "auth", "admin", "otp_totp")
_WITH_FORM = (".space", ".user", ".membership", ".agent", ".grant", ".namespace", ".store")


def everything() -> str:
    """All rows, but for what looking at pages leaves behind: entries of the chain, counters and sessions."""
    left_out = {"accounts.AuditEntry", "accounts.Session", "fluxcore.LimitWindow"}
    models = [model for model in apps.get_models() if model._meta.app_label in OURS]
    return "".join(
        serializers.serialize("json", model._default_manager.order_by("pk"))
        for model in models
        if model._meta.label not in left_out
    )


def tries(house: AdminSpaces, page: str) -> list[tuple[str, dict[str, str]]]:
    """What a browser sends to an ordinary administration of Django's, and a little more."""
    home, row = list_of(page), house.row(page)
    changed = {field.name: "changed" for field in row._meta.fields if field.name not in ("id", "digest", "session_key")}
    return [
        (f"{home}add/?_popup=1&_to_field=id", {**changed, "_save": "Save", "_popup": "1"}),
        (home, {"action": "delete_selected", "_selected_action": str(row.pk), "post": "yes", "index": "0"}),
        (home, {"action": "delete_selected", "_selected_action": str(row.pk), "select_across": "1"}),
        (
            home,
            {
                "form-TOTAL_FORMS": "1",
                "form-INITIAL_FORMS": "1",
                "form-0-id": str(row.pk),
                "_save": "Save",
                **{f"form-0-{name}": value for name, value in changed.items()},
            },
        ),
        (f"{home}?_popup=1&_to_field=uuid", {**changed, "_save": "Save"}),
        (f"{home}{row.pk}/change/", {**changed, "_save": "Save"}),
        (f"{home}{row.pk}/change/?_popup=1&_to_field=id", {**changed, "_saveasnew": "1", "_continue": "1"}),
        (f"{home}{row.pk}/delete/", {"post": "yes"}),
        (f"{home}{row.pk}/delete/?_popup=1", {"post": "yes"}),
        (f"{home}{row.pk}/history/", {"post": "yes"}),
        (f"{home}{row.pk}/", {**changed, "_save": "Save"}),
    ]


# Those between the least and the most that one may do are left to CI.
@pytest.mark.parametrize(
    "role", [ROLES[0], *(pytest.param(role, marks=pytest.mark.proof) for role in ROLES[1:-1]), ROLES[-1]]
)
def test_nothing_is_written_by_what_django_would_offer(house, role):
    client = house.client(role)
    for page in pages():
        client.get(list_of(page))
    before = everything()
    for page in pages():
        for path, fields in tries(house, page):
            if page.endswith(_WITH_FORM) and "/add/" in path:
                continue  # our own form is there: test_actions.py
            answer = send(client, path, **fields)
            assert answer.status_code in (301, 302, 403, 404, 405), (path, answer.status_code)
            if answer.status_code in (301, 302):
                assert path.endswith(f"{house.row(page).pk}/"), path  # Django's old address of a row, sent on
    assert everything() == before


@pytest.mark.parametrize("role", ["viewer", "administrator"])
def test_addresses_that_look_up_any_row_are_not_there(house, role):
    client = house.client(role)
    from django.contrib.contenttypes.models import ContentType

    kind = ContentType.objects.get_for_model(house.row("accounts.agent")).pk
    for path in (
        "/admin/autocomplete/?app_label=accounts&model_name=agent&field_name=parent&term=b",
        f"/admin/r/{kind}/{house.row('accounts.agent').pk}/",
        "/admin/accounts/nothing/",
        "/admin/auth/group/",
        "/admin/otp_totp/totpdevice/",
        "/admin/admin/logentry/",
    ):
        assert client.get(path).status_code == 404, path
        assert send(client, path).status_code in (403, 404), path
    assert client.get("/admin/jsi18n/").status_code == 200
    assert send(client, "/admin/jsi18n/", x="1").status_code in (403, 405)
    assert client.get("/admin/accounts/").headers["Location"] == "/admin/"


def test_no_column_can_be_guessed_at_through_the_address(house):
    client = house.client("administrator")
    for query in (
        "digest__startswith=a",
        "agent__space__name=home",
        "password__startswith=argon",
        "user__password__contains=a",
        "sealed_key__gt=a",
        "id__gt=0",
        "pk=1",
        "_to_field=digest",
        "session_data__contains=x",
        "uuid=1",
    ):
        for page in pages():
            answer = client.get(f"{list_of(page)}?{query}")
            assert answer.status_code == 302 and answer["Location"] == f"{list_of(page)}?e=1", (page, query)
    assert "everything is shown" in client.get(f"{list_of('accounts.token')}?e=1").content.decode()


def test_without_the_second_factor_every_address_leads_to_the_sign_in(house):
    client = house.client("administrator")
    session = client.session
    del session["otp_device_id"]
    session.save()
    before = everything()
    paths = [
        "/admin/",
        "/admin/capabilities/",
        "/admin/accounts/auditentry/chains/",
        "/admin/accounts/auditentry/export/",
        "/admin/jsi18n/",
    ]
    for page, found in pages().items():
        paths += [list_of(page), f"{list_of(page)}add/", house.address(page)]
        paths += [house.address(page, act=act.name) for act in found.row_actions]
        paths += [path for path, _ in tries(house, page)]
    for path in paths:
        for answer in (client.get(path), send(client, path, reason="let me", post="yes")):
            assert answer.status_code in (301, 302, 403), (path, answer.status_code)
            if answer.status_code != 403 and not answer["Location"].endswith("/change/"):
                assert answer["Location"].startswith(("/sign-in?", "/admin/login/?")), (path, answer["Location"])
    assert everything() == before


def test_every_page_is_of_the_one_kind():
    assert all(isinstance(page, FluxModelAdmin) for page in admin.site._registry.values())
    for name, page in pages().items():
        assert page.called and page.group and page.about and page.empty_says, name
        assert not page.inlines and not page.list_editable and not page.autocomplete_fields, name
        assert page.get_actions.__func__ is admin.ModelAdmin.get_actions and page.actions is None, name
        for method in (
            "has_change_permission",
            "has_delete_permission",
            "changelist_view",
            "changeform_view",
            "delete_view",
            "history_view",
            "action_view",
            "add_view",
            "lookup_allowed",
        ):
            assert method not in vars(type(page)), f"{name} goes its own way in {method}"


def test_nothing_of_djangos_own_is_registered():
    assert {model._meta.app_label for model in admin.site._registry} <= {
        "accounts",
        "artifacts",
        "fluxcore",
        "grains",
        "health",
        "keyvalue",
        "review",
    }


def test_a_form_from_elsewhere_does_nothing(house):
    client = stale(house.client("administrator"))
    answer = client.post(house.address("accounts.agent", act="stop"), {"reason": "from another site"})
    assert answer.status_code == 403 and house.row("accounts.agent").active
