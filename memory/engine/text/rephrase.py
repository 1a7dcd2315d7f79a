"""Detection of rephrased questions: the same question in other words shows that the first answer was not good."""

from __future__ import annotations

from memory.engine.text.question import Query

# Share of all terms that two questions have in common, or cosine of their vectors, above which they are the same.
SHARED, COSINE = 0.5, 0.8
_WANTS = ("wants_when", "wants_who", "wants_where", "wants_which", "wants_how_many", "wants_preference", "ordering")


def rephrases(later: Query, earlier: Query, cosine: float | None) -> bool:
    """Whether two questions name the same things, want the same kind of answer, and have similar but not equal words.

    A question repeated word by word may be a habit, and one that names another thing or wants another kind of answer is
    a new question: neither says anything about the earlier answer.
    """
    later_terms, earlier_terms = set(later.terms), set(earlier.terms)
    if (
        not later_terms
        or not earlier_terms
        or later_terms == earlier_terms
        or set(later.mentions) != set(earlier.mentions)
    ):
        return False
    if any(getattr(later, want) != getattr(earlier, want) for want in _WANTS):
        return False
    shared = len(later_terms & earlier_terms) / len(later_terms | earlier_terms)
    return shared >= SHARED or (cosine is not None and cosine >= COSINE)
