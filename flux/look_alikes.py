"""Characters that look like the letters of reserved names, and the pattern of everything that looks like such a name.

The table has what Unicode's list of confusable characters has for these letters in either case and as small capitals,
as far as NFKC does not turn it into the letter; `tests/artifacts/test_look_alikes.py` compares the two. ASCII is left
out: `aud1t` is another name. Without imports of ours, like `flux/paths.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LOOK_ALIKES = {
    ".": "\u0660\u06f0\u0701\u0702\ua4f8\ua60e\U00010a50\U0001d16d",
    "a": "\u0251\u0391\u03b1\u0410\u0430\u13aa\u15c5\u1d00\u237a\ua4ee\uab7a\U000102a0\U00016f40",
    "d": "\u0257\u0501\u13a0\u13e7\u146f\u15de\u15ea\u1d05\ua4d2\ua4d3\uab70",
    "e": ("\u0395\u0415\u0435\u04bd\u13ac\u1d07\u212e\u22ff\u2d39\ua4f0\uab32\uab7c\U00010286\U000118a6\U000118ae"),
    "g": "\u018d\u0261\u0262\u050c\u050d\u0581\u13c0\u13f3\u13fb\u1d83\ua4d6\uab90",
    "i": "\u0131\u0269\u026a\u03b9\u0456\u04cf\u13a5\u2373\ua647\uab75\U000118c3",
    "j": "\u037f\u03f3\u0408\u0458\u13ab\u148d\u1d0a\ua4d9\ua7b2\uab7b",
    "m": "\u028d\u039c\u03fa\u041c\u043c\u13b7\u15f0\u16d6\u1d0d\u2c98\ua4df\uab87\U000102b0\U00010311",
    "n": "\u0274\u039d\u03b7\u0578\u057c\u2c9a\ua4e0\U00010513",
    "o": (
        "\u039f\u03bf\u03c3\u041e\u043e\u0555\u0585\u05e1\u0647\u0665\u06be\u06c1\u06d5\u06f5\u07c0\u0966"
        "\u09e6\u0a66\u0ae6\u0b20\u0b66\u0be6\u0c02\u0c66\u0c82\u0ce6\u0d02\u0d20\u0d66\u0d82\u0e50\u0ed0"
        "\u101d\u1040\u10ff\u12d0\u1d0f\u1d11\u2c9e\u2c9f\u2d54\u3007\ua4f3\uab3d\U00010292\U000102ab"
        "\U00010404\U0001042c\U000104c2\U000104ea\U00010516\U000114d0\U000118b5\U000118c8\U000118d7\U000118e0"
    ),
    "r": (
        "\u01a6\u0280\u0433\u13a1\u13d2\u1587\u1d26\u2c85\ua4e3\uab47\uab48\uab71\uab81\uaba2\U000104b4"
        "\U00016f35\U0001d216"
    ),
    "s": ("\u01bd\u0405\u0455\u054f\u13d5\u13da\ua4e2\ua731\uabaa\U00010296\U00010420\U00010448\U000118c1\U00016f3a"),
    "t": (
        "\u03a4\u03c4\u0422\u0442\u13a2\u1d1b\u22a4\u27d9\u2ca6\ua4d4\uab72\U00010297\U000102b1\U00010315"
        "\U000118bc\U00016f0a\U0001f768"
    ),
    "u": (
        "\u028b\u03c5\u054d\u057d\u1200\u144c\u1d1c\u222a\u22c3\ua4f4\ua79f\uab4e\uab52\U000104ce\U000104f6"
        "\U000118b8\U000118d8\U00016f42"
    ),
    "v": (
        "\u03bd\u0474\u0475\u05d8\u0667\u06f7\u13d9\u142f\u1d20\u2228\u22c1\u2d38\ua4e6\ua6df\uaba9\U0001051d"
        "\U00011706\U000118a0\U000118c0\U00016f08\U0001d20d"
    ),
}
_CHARACTERS = frozenset("".join(LOOK_ALIKES.values()))


def pattern(names: Iterable[str]) -> re.Pattern[str]:
    """The pattern of what looks like one of the names, in the form of `folded`."""
    return re.compile(
        "|".join("".join(f"[{letter}{LOOK_ALIKES.get(letter, '')}]" for letter in name) for name in names)
    )


def folded(name: str) -> str:
    """A name without its case. Look-alikes stay: a capital can look like another letter than its small form."""
    return "".join(char if char in _CHARACTERS else char.casefold() for char in name)
