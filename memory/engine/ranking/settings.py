"""Settings of the engine: every number that influences an answer, with its range and meaning."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory.engine.graph.decay import DecaySettings
from memory.engine.graph.propagate import Propagation
from memory.engine.learning import vote_boost


@dataclass(frozen=True)
class Settings:
    """Defaults of the engine; config.yaml overrides some of them (`memory.recall.engine_settings`)."""

    # 0..1. Share of words in plain fusion; meaning has the rest.
    balance: float = 0.5
    # 0..1. Bonus, in units of plain fusion, of a grain said by the only speaker the question names.
    speaker: float = 0.3
    # 0..1. Bonus of a grain said by a person (user), and penalty of one said by a machine (assistant, system).
    role: float = 0.2
    # 0..1. Bonus of a grain of the time the question names.
    date: float = 0.3
    # 0..1. Penalty of a grain that an active one has superseded.
    superseded: float = 0.3
    # 0..1. Penalty of a grain that an active one of higher authority contradicts.
    contradicted: float = 0.15
    # 10..1,000. Rows searched by words, and as many by meaning.
    depth: int = 60
    # 10..300. Candidates that are fully scored: the pool.
    pool: int = 120
    # 0..pool. Places of the pool for the best by plain fusion, so that without a correction they lead the answer.
    plain: int = 20
    # 0..100. Standing rules and preferences that are always candidates.
    standing: int = 12
    # 0..20. Best matches whose links and titles are followed.
    heads: int = 4
    # 0..1,000. Grains of one entry that become candidates.
    entry_links: int = 32
    # 0..300. Grains said in the time the question names that become candidates.
    dated: int = 48
    # 0..300. Grains reached by signal propagation that become candidates, strongest first.
    reached: int = 32
    # 0..1. Weight of neighbours, context, session, titles and links in the choice of the pool.
    beside: float = 0.3
    # 0..1. Share of an answer that one session may fill while other sessions have candidates.
    one_session: float = 1.0
    # 0..20. Lateral candidates that are offered when confidence is low.
    expansion: int = 5
    # 0..100. Lateral candidates from one cluster at most.
    per_cluster: int = 2
    # 0..1. Confidence below which lateral candidates are offered.
    unsure: float = 0.4
    # 0..1. Least cosine of an answer to a question without a known word.
    noise: float = 0.38
    # Signal propagation from the best matches.
    propagation: Propagation = field(default_factory=lambda: Propagation(hops=1, frontier=8, edges=1_000))
    # Decay of links with the time since their last use.
    fading: DecaySettings = field(default_factory=DecaySettings)
    # Effect of votes on an answer.
    learning: vote_boost.VoteSettings = field(default_factory=vote_boost.VoteSettings)
    # Names of signals that are left out, to measure the value of each (ablation).
    without: frozenset[str] = frozenset()


DEFAULT = Settings()
