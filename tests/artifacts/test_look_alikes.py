"""Reserved names in the letters of other scripts: the table of look-alikes, and what it is used for."""

from __future__ import annotations

import unicodedata

import pytest
from confusable_homoglyphs.confusables import confusables_data

from flux import paths
from flux.look_alikes import LOOK_ALIKES
from fluxcore.errors import ReservedPath

ENTRIES = [(letter, other) for letter, others in LOOK_ALIKES.items() for other in others]


def is_reserved(name):
    try:
        return paths.writable_path(f"{name}/x") == ""
    except ReservedPath:
        return True


@pytest.mark.parametrize("letter", LOOK_ALIKES)
def test_every_entry_is_refused_at_every_place(letter):
    for other in LOOK_ALIKES[letter]:
        for name in paths.RESERVED:
            for at, found in enumerate(name):
                if found == letter:
                    for like in (name, name.upper(), name.title()):
                        written = like[:at] + other + like[at + 1 :]
                        assert is_reserved(written), (written, f"U+{ord(other):04X}")


def test_the_table_has_all_letters_and_what_unicode_has_for_them():
    assert set(LOOK_ALIKES) == set("".join(paths.RESERVED))
    for letter in set("".join(paths.RESERVED)):
        for confused in (letter, letter.upper()):
            for entry in confusables_data.get(confused, []):
                other = entry["c"].strip("\u200e\u200f")
                form = unicodedata.normalize("NFKC", other)
                if len(form) == 1 and not form.isascii():
                    assert form.casefold() == letter or form in LOOK_ALIKES[letter], (letter, f"U+{ord(other):04X}")


def test_no_entry_is_twice_or_without_effect():
    assert len({other for _, other in ENTRIES}) == len(ENTRIES)
    for letter, other in ENTRIES:
        assert not other.isascii() and unicodedata.normalize("NFKC", other) == other, (letter, other)


@pytest.mark.parametrize(
    "name",
    [
        "\u13aaudit",
        "\u1d0d\u1d07\u1d1b\u1d00",
        "\ua4df\ua4f0\ua4d4\ua4ee",
        "au\ua4d3it",
        "\uab7audit",
        "\u041c\u0415\u0422\u0410",
        "VERSIO\u039dS",
        "me\ua731\ua731ages.json",
        "\U0001d426eta",
        "m\ufe00eta",
        "me\u200dta",
        "meta.",
        "me%74a",
        "m%D0%B5ta",
    ],
)
def test_names_of_other_scripts_that_look_reserved(name):
    assert is_reserved(name)


@pytest.mark.parametrize(
    "name",
    [
        "m\u00e9ta",
        "aud1t",
        "audlt",
        "vers10ns",
        "\u0430\u0443\u0434\u0438\u0442",
        "\u03bc\u03b5\u03c4\u03b1",
        "\u03bc\u03b5\u03c4\u03ac",
        "\u0432\u0435\u0440\u0441\u0456\u0457",
        "\u00e0udit",
        "metar",
        "meta data",
        "\u30e1\u30bf",
    ],
)
def test_names_that_are_not_reserved(name):
    assert paths.writable_path(f"{name}/x") == f"{name}/x"


@pytest.mark.parametrize(
    "path",
    [
        "\u00bd cup.md",
        "\u215f\u2189.md",
        "\u06dd1.txt",
        "\u0600\u0661\u0662",
        "\U000110bd\U000110a0",
        "\u0646\u0627\u0645\u0647\u200c\u0647\u0627",
        "\U0001f1e9\U0001f1ea.md",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u2764\ufe0f",
        "1\ufe0f\u20e3",
        "\U0001f44d\U0001f3fd",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f.md",
        "\U0001fae9",
        "\u845b\U000e0100\u57ce",
    ],
)
def test_characters_of_scripts_and_emoji_are_taken(path):
    assert paths.writable_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "1\u20442",
        "a\u2044b",
        "\u00bd\u2215x",
        "a\u202eb",
        "a\u2066b",
        "a\u200bb",
        "\ufeffa",
        "a\u2060b",
        "a\u00adb",
        "a\u200fb",
        "a\U000e0067b",
        "\U0001f3f4\U000e0067\U000e0062",
        "\U0001f3f4\U000e007f",
        "x\U000e0067\U000e0062\U000e0065\U000e007f",
        "\U000e0001",
        "..\ufe00",
        "\u2105 x",
        "a\uff0fb",
        "%e2%81%84",
        "%E2%80%AE",
    ],
)
def test_what_is_invisible_turns_text_or_looks_like_a_slash_is_refused(path):
    with pytest.raises(paths.InvalidPath):
        paths.checked_path(path)


@pytest.mark.parametrize(
    "key", ["%2e%2e", "..%2f..", "a%00", " x", "x ", "\u2024\u2024", "..", "a\u2044b", "a\uff0fb", "%252e%252e"]
)
def test_keys_of_stores_have_the_rules_of_one_segment(key):
    with pytest.raises(paths.InvalidPath) as refusal:
        paths.checked_key(key)
    assert refusal.value.details["field"] == "key"
