"""Every number that shapes an answer, with what it means and how far it may go."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory.engine.graph.decay import DecaySettings
from memory.engine.graph.propagate import Propagation
from memory.engine.learning import vote_boost


@dataclass(frozen=True)
class Settings:
    """The engine's own; config.yaml changes some of them."""

    # 0..1. Share of words in plain fusion; meaning has the rest.
    balance: float = 0.5
    # 0..1. What it is worth, in units of plain fusion, to be said by the only speaker the question names.
    speaker: float = 0.3
    # 0..1. What a person's word is worth above, and a machine's below, one without a role.
    role: float = 0.2
    # 0..1. What it is worth to be of the time the question names.
    date: float = 0.3
    # 0..1. What a grain loses that an active one has superseded.
    superseded: float = 0.3
    # 0..1. What a grain loses that an active one of higher authority contradicts.
    contradicted: float = 0.15
    # 10..1,000. Finds by words, and as many by meaning.
    depth: int = 60
    # 10..300. Candidates that are weighed in full.
    pool: int = 120
    # 0..pool. Of these, the first by plain fusion: without a correction the answer's beginning is exactly that.
    plain: int = 20
    # 0..100. Standing rules and preferences that are always looked at.
    standing: int = 12
    # 0..20. Finds from which links and titles lead on.
    heads: int = 4
    # 0..1,000. Grains behind one name that are looked at.
    doors: int = 32
    # 0..300. Grains said in the time the question names that are looked at.
    then: int = 48
    # 0..300. Grains that spreading leads to, strongest first.
    reached: int = 32
    # 0..1. What neighbours, context, session, titles and links are worth each when the pool is chosen.
    beside: float = 0.3
    # 0..1. Share of k that one session may fill while others wait.
    one_session: float = 1.0
    # 0..20. Lateral candidates that are offered when confidence is low.
    expansion: int = 5
    # 0..100. Of these, taken from one cluster at most.
    per_cluster: int = 2
    # 0..1. Confidence below which they are.
    unsure: float = 0.4
    # 0..1. Cosine from which on a vector alone, without one known word, counts as an answer.
    noise: float = 0.38
    # How far and how wide the signal of the best finds spreads.
    propagation: Propagation = field(default_factory=lambda: Propagation(hops=1, frontier=8, edges=1_000))
    # How links fade with the time since they were used.
    fading: DecaySettings = field(default_factory=DecaySettings)
    # What votes do to an answer.
    learning: vote_boost.VoteSettings = field(default_factory=vote_boost.VoteSettings)
    # Signals that are left out, by name: for measuring what each is worth.
    without: frozenset[str] = frozenset()


DEFAULT = Settings()
