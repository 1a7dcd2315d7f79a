"""As whom a signed-in person acts"""

from __future__ import annotations

import pytest
from django.test import RequestFactory

from accounts.models import AuditEntry
from accounts.verbs import REGISTRY
from accounts.visitor import SignedIn


@pytest.fixture
def who(ada, space):
    request = RequestFactory().get("/")
    request.user, request.session = ada.user, ada.sign_in().session
    request.user.is_verified = lambda: True
    return SignedIn(request)


def test_an_administrator_owns_every_space_there_is(who, space):
    assert who.principal(space.pk).role == "owner" and who.principal(space.pk).chain == space.uuid.hex
    assert who.principal().role == "administrator" and who.principal().chain == "instance"


def test_in_a_space_that_is_not_there_nobody_may_anything(who, space):
    nowhere = who.principal(space.pk + 1)
    assert (nowhere.role, nowhere.chain) == ("", "instance")
    assert not any(who.may(needs, space.pk + 1) for needs in REGISTRY.values() if not needs.startswith("own."))


def test_asking_for_a_foreign_space_leaves_no_chain_of_its_own(who, ada, space):
    client = ada.sign_in()
    assert client.get("/?space=nowhere").status_code == 404
    assert set(AuditEntry.objects.values_list("chain", flat=True)) <= {"instance", space.uuid.hex}


def test_nobody_is_here_without_the_second_factor(ada):
    request = RequestFactory().get("/")
    request.user, request.session = ada.user, {}
    request.user.is_verified = lambda: False
    with pytest.raises(PermissionError):
        SignedIn(request)
