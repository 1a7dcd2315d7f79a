"""flux_extract: hand a text over from the shell"""

from __future__ import annotations

import pytest

from memory.extraction.models import Extraction
from memory.grains.models import Grain


@pytest.fixture(autouse=True)
def main(run):
    run("flux_space", "create", "main")


def test_it_stores_the_text_and_says_what_becomes_of_it(run, configure):
    said = run("flux_extract", "I moved to Lisbon.", "--speaker", "Anna").text
    assert "stored without extraction" in said
    configure(OPERATING_MODE="flux_extracts")
    assert "it is queued for the model" in run("flux_extract", "It rained.").text
    assert [(row.text, row.speaker, row.origin) for row in Grain.objects.order_by("id")] == [
        ("I moved to Lisbon.", "Anna", "user_stated"),
        ("It rained.", "", "user_stated"),
    ]


def test_what_was_given_up_is_asked_about_again(run, configure):
    configure(OPERATING_MODE="flux_extracts")
    run("flux_extract", "It rained.")
    Extraction.objects.update(state="given_up", tries=8)
    assert "1 texts are queued" in run("flux_extract", "--again").text
    assert Extraction.objects.filter(state="waiting", tries=0).count() == 1
