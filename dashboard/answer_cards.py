"""Results of a recall as cards: each memory with its score, the parts of the score and its path through the graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.urls import reverse

from dashboard.citations import CitationLink
from dashboard.highlighting import HighlightedRun, excerpt, highlight_terms
from fluxcore import clock
from memory.grains.graph_picture import GrainLabel
from memory.grains.models import Relation

MOST_TEXT = 700  # characters of a grain that are shown unfolded
# Labels of provenance, highest first.
ORIGINS = {
    "user_confirmed": "confirmed by a person",
    "user_stated": "stated by a person",
    "ai_stated": "stated by an agent",
    "ai_inferred": "inferred by an agent",
    "external_source": "from an external source",
    "unknown": "of unknown provenance",
}
_SEEN = 0.005  # smaller parts would be shown as 0.00
_SURE = ((0.8, "very high"), (0.5, "high"), (0.2, "low"), (0.0, "very low"))
# Labels of what matched a memory, by `memory.engine.ranking.candidates.SOURCES`.
_SOURCES = {
    "words": "keywords",
    "vector": "meaning",
    "link": "links",
    "learning": "feedback",
    "standing": "preference or rule",
    "session": "conversation",
}


@dataclass(frozen=True)
class ScoreBar:
    """A part of a score, drawn from a zero line that all bars of an answer share. Positions are of 100."""

    called: str
    says: str
    zero: str
    start: str
    width: str
    against: bool


@dataclass(frozen=True)
class PathStop:
    """A node on the path to a memory, and the link that leads to it."""

    says: str
    address: str = ""
    kind: str = ""  # kind of an entry
    relation: str = ""
    weight: str = ""
    thickness: str = ""


@dataclass(frozen=True)
class AnswerCard:
    place: int
    id: str
    address: str
    shown: list[HighlightedRun]
    rest: list[HighlightedRun]  # the whole text, if more than is shown
    score: str
    says: str
    source: str
    bars: list[ScoreBar]
    words: list[str]
    way: list[PathStop]
    grain: dict[str, Any] = field(default_factory=dict)  # its fields; a trace has none
    times: list[tuple[str, datetime]] = field(default_factory=list)
    citation: CitationLink | None = None  # source of a passage or message; a memory has none
    trace: str = ""  # trace of the answer, if the person may give feedback
    vote: Any = None  # feedback of the person

    @property
    def origin(self) -> str:
        return ORIGINS[self.grain["origin"]]

    @property
    def authority(self) -> str:
        """Provenance a memory counts as; empty if it is that of the origin."""
        return "" if self.grain["authority"] == self.grain["origin"] else ORIGINS[self.grain["authority"]]


@dataclass(frozen=True)
class AnswerConfidence:
    """Confidence of an answer, the chance that a correct memory is among the first five, in percent and as a label."""

    percent: int
    word: str

    @classmethod
    def of(cls, chance: float) -> AnswerConfidence:
        return cls(round(100 * chance), next(word for least, word in _SURE if chance >= least))


def named_grains(why: Iterable[dict[str, Any]]) -> list[str]:
    """Ids of all grains that an explanation refers to."""
    found: list[str] = []
    for one in why:
        found.append(one["grain_id"])
        found += [step[end] for step in one["path"] for end in ("from_grain", "to_grain") if step.get(end)]
    return list(dict.fromkeys(found))


def build_cards(
    why: list[dict[str, Any]],
    names: dict[str, GrainLabel],
    texts: dict[str, str],
    grains: dict[str, dict[str, Any]],
    citations: dict[str, CitationLink] | None = None,
) -> list[AnswerCard]:
    scale = _scale([part["part"] for one in why for part in one["parts"]])
    cards = [_card(one, names, texts.get(one["grain_id"]), grains.get(one["grain_id"], {}), scale) for one in why]
    return [replace(card, citation=(citations or {}).get(card.id)) for card in cards]


def admin_address(model: str, number: int) -> str:
    """Address of a row in the admin."""
    return reverse(f"admin:grains_{model}_change", args=[number])


def _card(
    one: dict[str, Any],
    names: dict[str, GrainLabel],
    text: str | None,
    grain: dict[str, Any],
    scale: tuple[float, float],
) -> AnswerCard:
    terms = [word["term"] for word in one["words"]]
    pieces = (
        highlight_terms(text, terms) if text is not None else [("This memory was removed or quarantined since.", False)]
    )
    shown, is_cut = excerpt(pieces, MOST_TEXT)
    return AnswerCard(
        place=one["place"],
        id=one["grain_id"],
        address=_address(names, one["grain_id"]),
        shown=shown,
        rest=pieces if is_cut else [],
        score=f"{one['score']:.2f}",
        says=one["says"],
        source=_SOURCES.get(one["source"], one["source"]),
        bars=[_bar(part["called"], part["part"], *scale) for part in one["parts"] if abs(part["part"]) >= _SEEN],
        words=terms,
        way=_way(one["path"], names),
        grain=grain,
        times=[
            (called, clock.parse(grain[name]))
            for name, called in (("time", "dated"), ("valid_from", "valid from"), ("valid_to", "valid until"))
            if grain.get(name)
        ],
    )


def _scale(parts: list[float]) -> tuple[float, float]:
    """Position of zero, and width of a part of 1."""
    low, high = min([0.0, *parts]), max([0.0, *parts])
    width = 100 / ((high - low) or 1.0)
    return abs(low) * width, width


def _bar(called: str, part: float, zero: float, width: float) -> ScoreBar:
    long = max(abs(part) * width, 0.6)
    return ScoreBar(
        called, f"{part:+.2f}", f"{zero:.2f}", f"{zero if part >= 0 else zero - long:.2f}", f"{long:.2f}", part < 0
    )


def _way(path: list[dict[str, Any]], names: dict[str, GrainLabel]) -> list[PathStop]:
    """Stops of the path: start of the signal, then each grain or entry. A step to an entry is named by the next one."""
    if not path:
        return []
    ends = [(step.get("to_grain"), after.get("from_entry")) for step, after in zip(path, [*path[1:], {}], strict=True)]
    found = [_stop(path[0].get("from_grain"), path[0].get("from_entry"), names)]
    for step, (grain, entry) in zip(path, ends, strict=True):
        found.append(
            _stop(
                grain,
                None if grain else entry,
                names,
                relation=Relation(step["relation"]).label.lower(),
                weight=f"{step['weight']:.2f}",
                thickness=f"{1 + 4 * min(max(step['weight'], 0.0), 1.0):.1f}",
            )
        )
    return found


def _stop(grain: str | None, entry: str | None, names: dict[str, GrainLabel], **link: str) -> PathStop:
    if entry is not None:
        kind, _, feature = entry.partition(":")
        return PathStop(feature, kind=kind, **link) if feature else PathStop("a shared entity", kind="entry", **link)
    known = names.get(grain or "")
    return PathStop(known.snippet if known else "a removed memory", _address(names, grain), **link)


def _address(names: dict[str, GrainLabel], grain: str | None) -> str:
    return admin_address("grain", names[grain].number) if grain in names else ""
