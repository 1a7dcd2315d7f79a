"""Texts are split into passages that keep their lines."""

from __future__ import annotations

from memory.passages.splitting import LEAST, MAX_PASSAGES, MOST, split_text

PLAN = """# Garden

Sow the beans in March.

## Water

Every morning, but never at noon.

```python
def water(bed):

    return bed
```
"""


def lines_of(text, passage):
    return "\n".join(text.split("\n")[passage.first - 1 : passage.last])


def test_headings_paragraphs_and_code_blocks():
    found = split_text(PLAN)
    assert [(one.heading, one.first, one.last) for one in found] == [("Garden", 1, 3), ("Water", 5, 13)]
    assert found[0].text == "# Garden\n\nSow the beans in March."
    assert "def water(bed):\n\n    return bed" in found[1].text


def test_a_passage_has_the_headings_right_above_it():
    found = split_text("# Garden\n\n## Beans\n\nSow in March.\n\n## Nothing yet\n")
    assert [(one.text, one.heading, one.first, one.last) for one in found] == [
        ("# Garden\n\n## Beans\n\nSow in March.", "Beans", 1, 5),
        ("## Nothing yet", "Nothing yet", 7, 7),
    ]


def test_headings_with_nothing_below_are_not_lost():
    (title,) = split_text("# Runner beans\n")
    assert (title.text, title.heading, title.first, title.last) == ("# Runner beans", "Runner beans", 1, 1)
    beds, tasks = split_text("# Beds\n\n## Empty\n\n## Full\n\nTomatoes.\n\n# Tasks\n\n## Today\n\n\n")
    assert beds.text == "# Beds\n\n## Empty\n\n## Full\n\nTomatoes."
    assert (tasks.text, tasks.first, tasks.last) == ("# Tasks\n\n## Today", 9, 11)


def test_only_line_feeds_end_lines_as_in_the_file_that_is_read():
    long = "word " * (LEAST // 5 + 1)
    text = f"one\ftwo\u2028three\x85four\x0bfive\r\n{long}\r\n\r\nThe passage.\r\n"
    found = split_text(text)
    assert [(one.first, one.last) for one in found] == [(1, 2), (4, 4)]
    assert found[1].text == "The passage." and found[0].text.startswith("one\ftwo\u2028three\x85four\x0bfive\nword")
    # A block that is not closed ends with the file.
    assert [(one.first, one.last) for one in split_text("```\ncode\n")] == [(1, 2)]


def test_short_paragraphs_of_one_heading_are_joined_and_long_ones_are_not():
    long = "word " * (LEAST // 5 + 1)
    found = split_text(f"{long}\n\n{long}\n\nshort\n\nshort too\n")
    assert [(one.first, one.last) for one in found] == [(1, 1), (3, 3), (5, 7)]


def test_each_passage_is_short_and_stands_on_its_lines():
    text = "\n".join(f"line {number} " + "x" * (number % 90) for number in range(400)) + "\n" + "Word. " * 2000
    found = split_text(text)
    assert all(len(one.text) <= MOST for one in found)
    for one in found:
        for line in one.text.splitlines():
            assert line.strip() in lines_of(text, one)
    assert found[0].first == 1 and found[-1].last == 401
    assert all(one.first <= one.last for one in found)
    assert "".join("".join(one.text.split()) for one in found) == "".join(text.split()), "nothing is left out"


def test_the_number_of_passages_is_bounded():
    assert len(split_text("\n\n".join("y" * LEAST for _ in range(MAX_PASSAGES + 5)))) == MAX_PASSAGES


def test_nothing_gives_no_passages():
    assert split_text("") == split_text("\n \n\t\n") == []
