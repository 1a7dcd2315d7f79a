"""Differences of texts: lines end at a line feed, as `diff` has it, and nowhere else."""

from __future__ import annotations

import pytest

from memory.artifacts.comparing import unified_diff


@pytest.mark.parametrize("inside", ["\f", "\v", "\r", "\x1c", "\x85", "\u2028", "\u2029"])
def test_other_characters_end_no_line(inside):
    old, new = f"a{inside}b\nsame{inside}\nlast\n", f"a{inside}c\nsame{inside}\nlast\n"
    assert unified_diff("x", old, new, "1", "2") == (
        f"--- x (1)\n+++ x (2)\n@@ -1,3 +1,3 @@\n-a{inside}b\n+a{inside}c\n same{inside}\n last\n"
    )


def test_only_the_last_line_can_lack_its_end():
    none = "\\ No newline at end of file\n"
    assert unified_diff("x", "a\nb", "a\nc\n", "1", "2").endswith(f" a\n-b\n{none}+c\n")
    assert none not in unified_diff("x", "", "a\n\n", "1", "2")
