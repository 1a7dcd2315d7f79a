"""Lookalikes: names that people could confuse."""

from __future__ import annotations

import pytest

from accounts import lookalikes


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("ada", "\u0430da"),
        ("admin", "adm1n"),
        ("admin", "adrnin"),
        ("root", "r00t"),
        ("Alice", "alice"),
        ("alice", "al\u0456ce"),
        ("bob", "\uff42ob"),
        ("wendy", "vvendy"),
        ("p\u03b1t", "pat"),
        ("x", "\u0445"),
        ("Bob", "\u0392ob"),
        ("Maria", "\u041caria"),
        ("Tom", "\u0422om"),
        ("ADMIN", "AD\u041cIN"),
        ("ada", "ada\u3164"),
        ("caesar", "c\u00e6sar"),
    ],
)
def test_they_have_one_skeleton(one, two):
    assert lookalikes.skeleton(one) == lookalikes.skeleton(two)


@pytest.mark.parametrize(("one", "two"), [("ada", "adam"), ("ada", "adb"), ("søren", "soeren"), ("grace", "grave")])
def test_others_are_told_apart(one, two):
    assert lookalikes.skeleton(one) != lookalikes.skeleton(two)


def test_the_one_who_is_meant_is_found():
    assert lookalikes.find_lookalike("\u0430da", ["grace", "ada"]) == "ada"
    assert lookalikes.find_lookalike("ada", ["grace"]) is None


def test_groups_name_each_other():
    assert lookalikes.find_lookalikes(["ada", "\u0430da", "grace"]) == {"ada": ["\u0430da"], "\u0430da": ["ada"]}


def test_foreign_letters_are_spelt_out():
    assert lookalikes.spell_out("\u0430da") == "'\u0430da' (\u0430 is CYRILLIC SMALL LETTER A)"
    assert lookalikes.spell_out("ada") == "'ada'"
