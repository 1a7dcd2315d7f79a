"""POST /store"""

from __future__ import annotations

import pytest

from memory.grains.models import Grain


@pytest.mark.parametrize("path", ["/store", "/api/v1/store"])
def test_it_stores_and_reads_back(api, path):
    answer = api.post(path, {"content": "Paris is the capital of France", "provenance": "user_stated"})
    assert answer.status_code == 200, answer.content
    stored = answer.json()
    assert stored["status"] == "stored"
    grain = api.get(f"/grains/{stored['grain_id']}").json()
    assert grain["content"] == "Paris is the capital of France"
    assert grain["provenance"] == "user_stated"
    assert grain["writer"] == "agent:alice"


def test_an_equal_text_of_the_same_origin_is_corroboration(api):
    first = api.post("/store", {"content": "The  cat sleeps"}).json()
    second = api.post("/store", {"content": "The cat sleeps "}).json()
    assert second == {"grain_id": first["grain_id"], "status": "corroborated", "provenance": "ai_stated"}
    assert Grain.objects.get().corroborations == 1


def test_another_origin_is_a_grain_of_its_own(api):
    first = api.post("/store", {"content": "x", "provenance": "ai_inferred"}).json()
    second = api.post("/store", {"content": "x", "provenance": "user_stated"}).json()
    assert first["grain_id"] != second["grain_id"]
