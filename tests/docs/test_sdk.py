"""The page about Python shows flux-memory's own example, word for word the one that is run."""

from __future__ import annotations

from tests.docs.pages import ROOT, commands
from tests.sdk.test_seed_names import EXAMPLE


def test_the_example_on_the_page_is_the_one_that_runs():
    shown = [one for one in commands(ROOT / "docs/sdk.md") if "FluxStore(" in one]
    assert len(shown) == 1
    assert EXAMPLE.strip() in shown[0]
