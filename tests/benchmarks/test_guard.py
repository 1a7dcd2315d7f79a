"""The guard: fitted without a set, that set and its variants are measured against plain fusion."""

from __future__ import annotations

from benchmarks import quality
from benchmarks.made.__main__ import sets


def test_every_set_and_variant_is_measured_by_a_fit_that_never_saw_the_set() -> None:
    made = [one for one in sets(small=True) if one["name"] in ("made-passages", "made-languages")]
    for one in made:
        one["collections"] = one["collections"][:1]
        one["collections"][0]["queries"] = one["collections"][0]["queries"][:8]
    rows = quality.guard(made, "none", None)
    assert {row["set"] for row in rows} == {"made-passages", "made-languages"}
    assert {"", "without speakers", "without sessions", "shuffled", "mixed with made-languages"} <= {
        row["variant"] for row in rows
    }
    for row in rows:
        assert row["gain"] == 100 * (row["left out"]["ndcg@10"] - row["plain"]["ndcg@10"])
