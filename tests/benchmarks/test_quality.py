"""A smoke run of the quality benchmark on a few generated collections: it runs, reports, and recall is no accident."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmarks import fit_ranker, fitting, quality, spaces, sureness
from benchmarks.made.__main__ import sets
from memory.engine.ranking import rank


def test_a_smoke_run_reports_means_calibration_and_ablation(tmp_path: Path) -> None:
    asked = ["--engine", "--small", "--encoder", "hashed", "--collections", "1", "--signals", "words,links"]
    assert quality.main([*asked, "--report", str(tmp_path)]) == 0
    (written,) = tmp_path.glob("quality-*.json")
    report = json.loads(written.read_text())
    assert set(report["sets"]) == {"made-chats", "made-passages", "made-assistant", "made-notes", "made-languages"}
    assert report["sets"]["made-passages"]["recall@10"] > 0.7
    assert np.mean([one["recall@10"] for one in report["sets"].values()]) > 0.6
    assert set(report["ablation"]) == {"words", "links"}
    assert report["ablation"]["words"]["made-notes"] > 3
    assert report["ablation"]["links"]["made-passages"] > 0
    assert 0 <= report["calibration"]["expected error"] < 0.5
    assert {"seed", "versions", "load", "weights", "encoder"} <= set(report)


def test_a_fit_on_judged_questions_beats_the_base_on_them_and_is_written_readably(tmp_path: Path) -> None:
    made = [one for one in sets(small=True) if one["name"] in ("made-passages", "made-notes")]
    lessons = fit_ranker.lessons_of(made, "none", None, with_variants=False)
    ranker = fitting.fit(lessons, version="small")
    assert fitting.evaluate(lessons, ranker)["ndcg@10"] > fitting.evaluate(lessons, None)["ndcg@10"] + 0.01
    sure = sureness.fit_confidence(lessons, ranker)
    target = tmp_path / "weights.py"
    fit_ranker.write(ranker, sure, "Fitted for a test.", target)
    scope: dict = {}
    exec(target.read_text(), scope)
    again = rank.load_ranker(scope["WEIGHTS"])
    assert again.version == "small"
    assert np.allclose(again.shared, ranker.shared, atol=1e-3)
    assert scope["CONFIDENCE"]["signs"]


def test_questions_in_a_file_are_read_with_nothing_where_nothing_was_said(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    item = {"id": "1", "text": "hello", "time": None, "speaker": None, "session": 3}
    path.write_text(json.dumps({"name": "one", "collections": [{"id": "c", "items": [item], "queries": []}]}))
    (read,) = spaces.read(path)["collections"][0]["items"]
    assert (read["time"], read["speaker"], read["session"]) == ("", "", "3")
