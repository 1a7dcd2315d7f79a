"""flux_token"""

from __future__ import annotations

import re

import pytest


@pytest.fixture(autouse=True)
def _agent(run):
    run("flux_space", "create", "main")
    run("flux_agent", "create", "helper")


def test_it_shows_a_new_token_once(run):
    minted = run("flux_token", "mint", "helper")
    token = re.search(r"flux_\w{8}_[\w-]{43}", minted.text).group()
    listed = run("flux_token", "--json").text
    assert token not in listed
    assert token[:13] in listed


def test_a_program_may_pass_on_the_user_s_own_words_unless_its_owner_says_no(run, as_agent):
    minted = run("flux_token", "mint", "helper", "--json").json()
    assert minted["ceiling"] == "user_stated"
    said = {"content": "Ada was born in 1815.", "provenance": "user_stated"}
    assert as_agent(minted["token"]).post("/store", said).status_code == 200
    assert run("flux_token", "mint", "helper", "--no-user-words", "--json").json()["ceiling"] == "ai_stated"
    assert run("flux_token", "mint", "helper", "--ceiling", "ai_inferred", "--json").json()["ceiling"] == "ai_inferred"


def test_standard_output_is_the_token_alone(run):
    """So that a shell can take it: TOKEN=$(flux token mint helper)."""
    assert re.fullmatch(r"flux_\w{8}_[\w-]{43}\n", run("flux_token", "mint", "helper").text)


def test_a_revoked_token_is_refused_at_once(run, as_agent):
    minted = run("flux_token", "mint", "helper", "--json").json()
    assert as_agent(minted["token"]).get("/grains").status_code == 200
    run("flux_token", "revoke", minted["prefix"])
    assert as_agent(minted["token"]).get("/grains").status_code == 401


def test_a_token_can_expire(run):
    minted = run("flux_token", "mint", "helper", "--days", "1", "--json").json()
    assert minted["expires_at"] is not None


@pytest.mark.parametrize("days", ["0", "-1", "nan", "1e12"])
def test_it_refuses_a_life_that_is_none(run, days):
    refused = run("flux_token", "mint", "helper", f"--days={days}", "--json")
    assert refused.json()["error"]["details"]["field"] == "days"


def test_it_refuses_an_unknown_prefix(run):
    assert run("flux_token", "revoke", "flux_nothere1", "--json").json()["error"]["code"] == "not_found"
