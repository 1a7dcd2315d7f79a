"""A smoke run of the learning benchmark on a few generated collections: it runs, reports, and votes help."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import attunement, learning, lessons, paraphrases
from benchmarks.made.__main__ import sets
from tests.engine.memories import make_space


def test_a_smoke_run_reports_gains_harm_and_the_control(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for made in sets(small=True):
        if made["name"] in ("made-chats", "made-notes"):
            (tmp_path / f"{made['name']}.json").write_text(json.dumps(made))
    asked = ["--encoder", "hashed", "--collections", "1", "--seeds", "1", "--report", str(tmp_path / "reports")]
    assert learning.main([str(tmp_path), *asked]) == 0
    (written,) = (tmp_path / "reports").glob("learning-*.json")
    report = json.loads(written.read_text())
    assert {"seeds", "encoder", "settings", "versions", "load", "sets"} <= set(report)
    assert set(report["sets"]) == {"made-chats", "made-notes"}
    for name, ways in report["sets"].items():
        told = ways["told"]
        assert told["same"]["after"] > 95, name
        assert told["keywords"]["after"] > 85, name
        assert ways["shown"]["same"]["gain"] >= 0, name
        assert told["unrelated"]["gain"] > -5, name
        assert ways["hostile"]["unrelated"]["gain"] > -5, name
        assert any(way.startswith("popularity") for way in ways), name
    rows = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert all({"what", "ratio", "measured"} <= set(row) for row in rows)


def test_half_is_judged_and_the_rest_is_told_apart_by_its_evidence() -> None:
    asked = [lessons.Asked(f"q{at}", [str(at // 2)], dict.fromkeys(paraphrases.KINDS, "")) for at in range(40)]
    split = lessons.Split.of(asked, 1)
    assert len(split.judged) == 20
    touched = {one.evidence[0] for one in split.judged}
    held = [(group, evidence) for group, _, evidence in split.groups if group in ("related", "unrelated")]
    assert len(held) == 20
    assert all((group == "related") == (evidence[0] in touched) for group, evidence in held)
    assert {group for group, _ in held} == {"related", "unrelated"}
    assert [one.text for one in lessons.Split.of(asked, 1).judged] == [one.text for one in split.judged]
    assert [one.text for one in lessons.Split.of(asked, 2).judged] != [one.text for one in split.judged]


def test_a_question_is_said_in_three_other_ways() -> None:
    index = make_space("The boiler is old.", "The boiler hums.", "A plumber from Ghent.", vectors=False).index
    said = paraphrases.of("When did we buy the boiler in Ghent?", index)
    assert said == {
        "keywords": "buy boiler Ghent?",
        "synonyms": "When did we purchase the boiler in Ghent?",
        "without the rarest": "When did we buy the boiler in",
    }


def test_nothing_is_taken_from_a_question_that_has_nothing_to_spare() -> None:
    index = make_space("The boiler is old.", vectors=False).index
    assert paraphrases.of("Boiler?", index)["without the rarest"] == "Boiler?"
    assert paraphrases.of("Who are you?", index)["keywords"] == "Who are you?"


def test_no_synonym_is_the_word_itself() -> None:
    assert all(word != other and word.islower() and other.islower() for word, other in paraphrases.SYNONYMS.items())


def test_own_weights_are_measured_on_questions_that_were_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = next(one for one in sets() if one["name"] == "made-chats")
    (tmp_path / "made-chats.json").write_text(json.dumps(made))
    assert attunement.main([str(tmp_path), "--encoder", "hashed", "--collections", "1"]) == 0
    rows = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    gains = {row["what"]: row["ratio"] for row in rows}
    assert gains["made-chats, none near: own weights from 25 questions, nDCG@10"] > 2
    assert gains["made-chats, shipped: own weights from 25 questions, nDCG@10"] > -1
