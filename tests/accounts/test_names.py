"""Names of spaces and agents: 1-64 of a-z, 0-9, `_` and `-`, no punctuation at the edges."""

from __future__ import annotations

import pytest

from accounts.names import check_name
from fluxcore.errors import Invalid


@pytest.mark.parametrize("name", ["a", "7", "home", "agent-7", "a_b-c", "a" * 64, "a--b"])
def test_it_takes(name):
    assert check_name(name, what="a space") == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "A",
        "a" * 65,
        "-a",
        "a-",
        "_a",
        "a_",
        "a b",
        "a/b",
        "a.b",
        "..",
        "ü",
        "\u0430",
        "a\n",
        "\na",
        "a\0",
        "٣",
        None,
        7,
        ["a"],
    ],
)
def test_it_refuses(name):
    with pytest.raises(Invalid) as refusal:
        check_name(name, what="a space")
    assert refusal.value.details == {"field": "name"}
