"""Whether a question asks for the same as the one before it, in other words: its asker was not content."""

from __future__ import annotations

from memory.engine.text.question import Query

# Share of all terms that two questions have in common, or cosine of their vectors, from which on they ask the same.
SHARED, COSINE = 0.5, 0.8
_WANTS = ("wants_when", "wants_who", "wants_where", "wants_which", "wants_how_many", "wants_preference", "ordering")


def rephrases(later: Query, earlier: Query, cosine: float | None) -> bool:
    """The same things are named, the same kind of answer is wanted, and the words are near but not equal.

    A question asked again word by word is a habit, and one that names another thing or wants another kind of answer
    is the next question: neither says anything about the answer before.
    """
    ours, theirs = set(later.terms), set(earlier.terms)
    if not ours or not theirs or ours == theirs or set(later.mentions) != set(earlier.mentions):
        return False
    if any(getattr(later, want) != getattr(earlier, want) for want in _WANTS):
        return False
    shared = len(ours & theirs) / len(ours | theirs)
    return shared >= SHARED or (cosine is not None and cosine >= COSINE)
