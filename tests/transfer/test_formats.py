"""Each kind of memory becomes grains that say what it said, with who stood behind it where that is known."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing

import pytest

from fluxcore.errors import Invalid
from memory.grains.models import Conduit, Grain, Relation
from memory.transfer import formats


def texts():
    return list(Grain.objects.order_by("id").values_list("text", flat=True))


def test_a_flux_memory_database(move, seed):
    assert formats.detect_format(seed) == "flux-memory"
    counts, told = move(seed)
    assert counts == {"stored": 3, "there": 0, "refused": 1, "capped": 0, "links": 2}
    bees, hives, honey = Grain.objects.order_by("id")
    assert (bees.text, bees.origin, bees.decay_class, bees.tags) == (
        "Mira keeps bees on the roof",
        "user_stated",
        1,
        ["bees"],
    )
    assert bees.said_at.isoformat() == "2026-02-01T10:00:00+00:00"
    assert (hives.origin, hives.status, hives.confidence) == ("ai_inferred", "dormant", 0.4)
    assert honey.origin == "unknown"  # a name nobody knows is nobody's word
    assert [one.message for one in told if one.status == "refused"] == ["It was marked for deletion there."]
    used = Conduit.objects.get(from_grain=bees, to_grain=hives, relation=Relation.RELATED)
    assert (used.weight, used.use_count) == (0.8, 3)
    assert Conduit.objects.filter(from_grain=honey, to_grain=bees, relation=Relation.SUPPORTS).exists()
    assert not Conduit.objects.filter(from_grain=bees, to_grain=honey).exists()  # near by meaning: found again here


def test_an_mcp_memory_file_of_lines(move, knowledge):
    assert formats.detect_format(knowledge) == "mcp-memory"
    assert move(knowledge)[0]["stored"] == 4
    assert texts() == [
        "Mira: keeps bees",
        "Mira drives a van",
        "Roof garden is a place",
        "Mira takes care of Roof garden",
    ]
    assert Grain.objects.first().tags == ["person"]
    assert set(Grain.objects.values_list("origin", flat=True)) == {"unknown"}


def test_an_mcp_memory_file_of_one_document(move, tmp_path):
    path = tmp_path / "memory.json"
    entity = {"name": "Mira", "entityType": "person", "observations": ["keeps bees"]}
    path.write_text(json.dumps({"entities": [entity], "relations": []}, indent=2))
    assert formats.detect_format(path) == "mcp-memory"
    assert move(path)[0]["stored"] == 1
    assert texts() == ["Mira: keeps bees"]


def test_a_folder_of_notes(move, vault):
    assert formats.detect_format(vault) == "markdown"
    counts, _ = move(vault, provenance="user_stated")
    assert counts == {"stored": 4, "there": 0, "refused": 0, "capped": 0, "links": 2}
    kept, feeding, shopping, mira = Grain.objects.order_by("id")
    assert kept.text == "Bees\nKept by [[Mira]] since spring. #honey"
    assert feeding.text.startswith("Bees \u203a Feeding\nSugar water")
    assert "# no heading here" in feeding.text
    assert mira.text.startswith("Mira\nLives above")
    assert (kept.tags, kept.session, kept.ordinal, kept.origin) == (
        ["hobby", "roof", "honey"],
        "Bees.md",
        0,
        "user_stated",
    )
    assert (feeding.session, feeding.ordinal, mira.session) == ("Bees.md", 1, "people/Mira.md")
    assert kept.said_at.isoformat() == "2025-04-01T00:00:00+00:00"
    assert shopping.text == "list\nmilk, eggs"
    pairs = set(Conduit.objects.filter(use_count=1).values_list("from_grain", "to_grain"))
    assert pairs == {(kept.pk, mira.pk), (mira.pk, kept.pk)}


def test_plain_text_is_cut_where_it_may_be(move, tmp_path):
    path = tmp_path / "diary.txt"
    first, second = ("".join(f"Thing {n} of {end} " for n in range(end)) for end in (9, 40))
    first, second = first.replace(" Thing", ". Thing"), second.replace(" Thing", "! Thing").strip() + "!"
    path.write_text(f"{first}\n\n{second}\n\nshort\n\nends")
    assert formats.detect_format(path) == "text"
    move(path, chunk=200)
    found = texts()
    assert all(len(one) <= 200 for one in found)
    assert " ".join(" ".join(found).split()) == " ".join(path.read_text().split())
    assert found[-1].endswith("short\n\nends")
    assert all(one.rstrip().endswith((".", "!", "9", "ends")) for one in found)


def test_a_word_longer_than_a_piece_is_cut(move, tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("".join(map(str, range(190))) + " end")
    move(path, chunk=100)
    assert "".join(texts()).replace(" ", "") == "".join(map(str, range(190))) + "end"


def test_who_stands_behind_it_is_capped_and_never_raised(move, seed):
    counts, _ = move(seed, ceiling="ai_stated", provenance="user_stated")
    assert dict(Grain.objects.values_list("text", "origin")) == {
        "Mira keeps bees on the roof": "ai_stated",  # it claimed user_stated
        "The hives were moved in May": "ai_inferred",
        "Honey is sold on Saturdays": "ai_stated",  # so did the person who imports it
    }
    assert counts["capped"] == 2
    assert list(Grain.objects.order_by("id").values_list("authority", flat=True)) == [2, 3, 2]


@pytest.mark.parametrize("claimed", ["user_confirmed", "user_stated"])
def test_nothing_claims_more_than_a_person_at_the_shell(move, tmp_path, claimed):
    path = tmp_path / "x.jsonl"
    row = {"content": "I was confirmed", "provenance": claimed, "authority": "user_confirmed"}
    path.write_text('{"flux_export":1}\n' + json.dumps({"grain": row}) + "\n")
    move(path)
    grain = Grain.objects.get()
    assert (grain.origin, grain.authority) == ("user_stated", 1)


def test_what_was_derived_from_less_stays_less(move, tmp_path):
    path = tmp_path / "x.jsonl"
    row = {"content": "derived", "provenance": "user_stated", "authority": "external_source"}
    path.write_text('{"flux_export":1}\n' + json.dumps({"grain": row}) + "\n")
    move(path)
    assert Grain.objects.get().authority == 4


# Bad input ------------------------------------------------------------------------------------------------------


def test_a_file_that_is_nowhere(move, tmp_path):
    with pytest.raises(Invalid, match="does not exist"):
        move(tmp_path / "nowhere")


def test_a_database_of_something_else(move, tmp_path, seed):
    import sqlite3
    from contextlib import closing

    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE grains (id)")
        base.commit()
    with pytest.raises(Invalid, match="not of flux-memory: grains lacks confidence, content"):
        move(path)
    path.write_bytes(seed.read_bytes()[:5000])
    with pytest.raises(Invalid):
        move(path)
    assert Grain.objects.count() == 0


def test_a_database_whose_texts_are_no_utf_8(move, seed):
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(seed)) as base:
        base.execute("UPDATE grains SET content = CAST(x'63616665e9' AS TEXT) WHERE decay_class = 'core'")
        base.commit()
    counts, told = move(seed)
    assert (counts["stored"], counts["refused"]) == (2, 4)  # it, the marked one, and the two links that lead to it
    assert "not UTF-8" in told[0].message


@pytest.mark.either_database
@pytest.mark.parametrize(
    "line, says",
    [
        (b'{"grain": ', "not valid JSON"),
        (b"[1, 2]", "neither a memory nor a link"),
        (b'{"grain": 7}', "neither"),
        (b'{"grain": {"content": " "}}', "content is empty"),
        (b'{"grain": {}}', "content must be a text"),
        (b'{"grain": {"content": "caf\xe9"}}', "not UTF-8"),
        (b"[" * 100_000, "not valid JSON"),
        (b'{"grain": {"content": "x", "valid_from": "yesterday"}}', "valid_from"),
        (b'{"grain": {"content": "x", "recorded_at": "0001-01-01T00:00:00Z"}}', "recorded_at"),
        (b'{"grain": {"content": "x", "provenance": "god"}}', "provenance"),
        (b'{"grain": {"content": "x", "confidence": NaN}}', "confidence"),
        (b'{"grain": {"content": "x", "pinned": 1}}', "pinned"),
        (b'{"grain": {"content": "x", "status": "pending_deletion"}}', "status"),
        (b'{"grain": {"content": "' + b"x" * 20_000 + b'"}}', "longer than 16384 bytes"),
        (b'{"grain": {"content": "a\\u0000b"}}', "NUL"),
        (b'{"grain": {"content": "\\ud800"}}', ""),
    ],
    ids=str,
)
def test_a_broken_line_costs_that_line(move, tmp_path, line, says):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"flux_export":1}\n{"grain":{"content":"before"}}\n' + line + b'\n{"grain":{"content":"after"}}')
    counts, told = move(path)
    assert (counts["stored"], counts["refused"]) == (2, 1)
    (bad,) = (one for one in told if one.status == "refused")
    assert bad.place == "line 3" and bad.code and says in bad.message
    assert texts() == ["before", "after"]


@pytest.mark.parametrize(
    "link, says",
    [
        ({"from": "a", "to": "b"}, ""),
        ({"from": "a", "to": "gone"}, "not import"),
        ({"from": "a", "to": "a"}, "two"),
        ({"from": "a", "to": "b", "weight": "much"}, "weight"),
        ({"from": "a", "to": "b", "relation": "hates"}, "relation"),
        ({"to": "b"}, "begin"),
        ({"entry": {"kind": "name"}, "to": "b"}, "entry"),
        ({"from": "a", "to": "b", "x": 1}, "object"),
    ],
    ids=str,
)
def test_a_broken_link_costs_that_link(move, tmp_path, link, says):
    path = tmp_path / "x.jsonl"
    lines = [
        {"flux_export": 1},
        {"grain": {"id": "a", "content": "a"}},
        {"grain": {"id": "b", "content": "b"}},
        {"link": link},
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    counts, told = move(path)
    assert (counts["stored"], counts["links"], counts["refused"]) == (2, int(not says), int(bool(says)))
    assert says in told[-1].message


@pytest.mark.parametrize(
    "line",
    [
        {"type": "entity", "name": "", "observations": ["x"]},
        {"type": "entity", "name": "A", "observations": "x"},
        {"type": "entity", "name": "A", "observations": [7]},
        {"type": "relation", "from": "A", "to": "B"},
        {"type": "thing"},
        ["entity"],
    ],
    ids=str,
)
def test_knowledge_of_the_wrong_shape(move, knowledge, line):
    with knowledge.open("a") as file:
        file.write(json.dumps(line))
    counts, _ = move(knowledge)
    assert (counts["stored"], counts["refused"]) == (4, 1)


def test_a_document_whose_lists_are_none(move, tmp_path):
    path = tmp_path / "memory.json"
    path.write_text('{"entities": {"a": 1}}')
    with pytest.raises(Invalid, match="must be a list"):
        move(path)


def test_notes_that_lead_elsewhere_or_cannot_be_read(move, vault, tmp_path):
    outside = tmp_path / "secret.md"
    outside.write_text("not part of the folder")
    (vault / "out.md").symlink_to(outside)
    (vault / "away").symlink_to(tmp_path)
    (vault / "nowhere.md").symlink_to(vault / "no such")
    (vault / "latin.md").write_bytes(b"caf\xe9")
    (vault / "wide.md").write_bytes("ça".encode("utf-16"))
    (vault / "front.md").write_text("---\n[: no yaml\n---\nstill a note")
    counts, told = move(vault)
    assert (counts["stored"], counts["refused"]) == (6, 4)
    assert not Grain.objects.filter(text__contains="not part of the folder").exists()
    refused = {one.place: one.message for one in told if one.status == "refused"}
    assert set(refused) == {"out.md", "away", "nowhere.md", "latin.md"}
    assert refused["out.md"] == "The link leads out of the folder."


LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))


@pytest.mark.parametrize(
    "front",
    [
        "a: !!bool maybe",
        "a: !!timestamp soon",
        'a: !!int ""',
        f"tags: [0x{'f' * 3900}]",
        f"date: 0x{'f' * 3900}",
        f"{LAUGHS}date: *a11",
    ],
    ids=["bool", "timestamp", "int", "tag", "date", "laughs"],
)
def test_no_front_matter_costs_more_than_itself(move, tmp_path, front):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text(f"---\n{front}\n---\nMira keeps bees\n")
    assert move(tmp_path / "notes")[0] == {"stored": 1, "there": 0, "refused": 0, "capped": 0, "links": 0}


@pytest.mark.parametrize("size, read", [(4096, True), (4097, False)])
def test_front_matter_beyond_four_kilobytes_is_not_read_and_its_note_is_kept(move, tmp_path, size, read):
    (tmp_path / "notes").mkdir()
    front = "tags: [bees]\nsummary: "
    front += "é" * ((size - len(front)) // 2)
    front += "x" * (size - len(front.encode()))
    (tmp_path / "notes" / "a.md").write_text(f"---\n{front}\n---\nMira keeps bees\n")
    assert move(tmp_path / "notes")[0]["stored"] == 1
    assert (Grain.objects.get().tags, texts()) == (["bees"] if read else [], ["a\nMira keeps bees"])


def test_a_note_whose_name_is_no_utf_8(move, tmp_path):
    """Of an old disk, say: it has a name that can be printed and kept."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / os.fsdecode(b"caf\xe9.md")).write_text("Open on Sundays")
    counts, (told,) = move(tmp_path / "notes")
    assert (counts["stored"], told.place) == (1, "caf\ufffd.md, piece 1")
    assert texts() == ["caf\ufffd\nOpen on Sundays"]


def test_a_database_that_is_damaged_further_on_is_read_up_to_there(move, seed):
    with closing(sqlite3.connect(seed)) as base:
        more = [(f"{n:032x}", f"Hive {n} " + "x" * 900, f"2026-07-01 10:00:{n % 60:02}") for n in range(200)]
        base.executemany("INSERT INTO grains (id, content, created_at) VALUES (?, ?, ?)", more)
        base.execute("CREATE INDEX by_time ON grains (created_at)")
        base.commit()
    raw = bytearray(seed.read_bytes())
    size = int.from_bytes(raw[16:18], "big")
    for page in range(30, 34):
        raw[page * size : (page + 1) * size] = b"\xff" * size
    seed.write_bytes(raw)
    counts, told = move(seed)
    assert counts["stored"] >= 3
    assert "malformed" in next(one.message for one in told if one.place == "the rest of the database")


def test_a_folder_without_notes(move, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(Invalid, match="no notes"):
        move(tmp_path / "empty")
