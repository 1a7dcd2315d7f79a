"""Health signals: definition, healthy range, and advice for values outside of it.

A young space that is used well must be healthy. No signal requires what only age or misfortune brings, such as a least
number of archived grains or of decayed links per day.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fluxcore.command_names import typed_commands

DAY, WEEK, MONTH = 24, 168, 720  # hours
SETTLED = -DAY  # window of a day without its last hour, whose answers may get feedback yet
BINS = 10  # bins of confidence for the calibration error
MANY_STORES = 20  # stores of one caller per day from which on their provenance is examined
INFO, WARNING, CRITICAL = "INFO", "WARNING", "CRITICAL"


class ReadingState(StrEnum):
    """State of one reading of a signal."""

    HEALTHY = "healthy"
    LOW = "low"
    HIGH = "high"
    WARMING = "warming"  # the space is too young
    IDLE = "idle"  # too little activity

    @property
    def bad(self) -> bool:
        return self in (ReadingState.LOW, ReadingState.HIGH)


@dataclass(frozen=True)
class SignalCounts:
    """Input of all signals: sums of several windows, present totals, sums by caller, age of the space."""

    sums: Mapping[int, Mapping[str, float]] = field(default_factory=dict)  # by window in hours, by name
    levels: Mapping[str, float] = field(default_factory=dict)
    callers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # of the last day
    recalls: float = 0  # of all time
    judged: float = 0  # recalls with feedback, of all time
    days: float = 0  # age of the space
    gain: float | None = None  # of the last replay

    def sum(self, name: str, hours: int) -> float:
        return self.sums.get(hours, {}).get(name, 0.0)

    def level(self, name: str) -> float:
        return self.levels.get(name, 0.0)


@dataclass(frozen=True)
class Signal:
    """One signal. Bounds are inclusive; None is no bound; `of` makes them shares of a level."""

    name: str
    says: str
    value: Callable[[SignalCounts], float | None]
    advice: str  # its commands as `{flux_eval}`
    low: float | None = None
    high: float | None = None
    severity: str = INFO
    critical: float | None = None  # limit beyond the range from which on the severity is CRITICAL
    window: int = 0  # hours; 0: present value
    of: str = ""
    # Minimums before which there is no state: age of the space in days, recalls, judged recalls, grains.
    days: float = 0
    recalls: int = 0
    judged: int = 0
    grains: int = 0
    dwell: int = 3  # readings outside in a row that raise a warning; one more inside clears it

    @property
    def suggestion(self) -> str:
        """What to do where it is not healthy, with commands as the user types them."""
        return typed_commands(self.advice)

    def bounds(self, counts: SignalCounts) -> tuple[float | None, float | None]:
        whole = counts.level(self.of) if self.of else 1.0
        return tuple(None if bound is None else bound * whole for bound in (self.low, self.high))  # type: ignore[return-value]

    def warm(self, counts: SignalCounts) -> bool:
        return (
            counts.days >= self.days
            and counts.recalls >= self.recalls
            and counts.judged >= self.judged
            and counts.level("active") >= self.grains
        )

    def read(self, counts: SignalCounts) -> SignalReading:
        value, (low, high) = self.value(counts), self.bounds(counts)
        if value is None:
            state = ReadingState.IDLE
        elif not self.warm(counts):
            state = ReadingState.WARMING
        elif low is not None and value < low:
            state = ReadingState.LOW
        else:
            state = ReadingState.HIGH if high is not None and value > high else ReadingState.HEALTHY
        return SignalReading(self, value, low, high, state, self._severity(value, state))

    def _severity(self, value: float | None, state: ReadingState) -> str:
        if self.critical is None or value is None or not state.bad:
            return self.severity
        beyond = value < self.critical if state is ReadingState.LOW else value > self.critical
        return CRITICAL if beyond else self.severity


@dataclass(frozen=True)
class SignalReading:
    """Value of a signal at one time, and its state."""

    signal: Signal
    value: float | None
    low: float | None
    high: float | None
    state: ReadingState
    severity: str


def _share(part: float, whole: float, *, least: float = 1) -> float | None:
    """Share of a total; None if the total is too small."""
    return part / whole if whole >= least else None


def _growth(name: str) -> Callable[[SignalCounts], float]:
    return lambda counts: counts.sum(name, WEEK)


def _skew(counts: SignalCounts) -> float | None:
    """Largest share of user_stated grains among the stores of one caller."""
    shares = [
        sums.get("stated", 0.0) / sums["stores"]
        for sums in counts.callers.values()
        if sums.get("stores", 0.0) >= MANY_STORES
    ]
    return max(shares, default=None)


def calibration_error(sums: Mapping[str, float], *, least: float = 50) -> float | None:
    """Difference between confidence and feedback, on average over ten bins weighted by what is in them."""
    bins = [tuple(sums.get(f"sure{at}.{part}", 0.0) for part in ("count", "sum", "hits")) for at in range(BINS)]
    whole = sum(count for count, _, _ in bins)
    if whole < least:
        return None
    return sum(abs(confidence - hits) for count, confidence, hits in bins if count > 0) / whole


SIGNALS: tuple[Signal, ...] = (
    Signal(
        "retrieval_success_rate",
        "Share of recalls with feedback in which something was useful",
        lambda c: _share(c.sum("hits", DAY), c.sum("judged", DAY), least=20),
        "Look on the Traces page at recalls that were not useful, and store what was missing; {flux_eval} shows "
        "whether feedback helps.",
        low=0.5,
        severity=WARNING,
        critical=0.2,
        window=DAY,
        recalls=100,
    ),
    Signal(
        "fallback_trigger_rate",
        "Share of recalls found by vectors only: no word of the query was known",
        lambda c: _share(c.sum("fallbacks", DAY), c.sum("recalls", DAY), least=20),
        "Agents query with other words than they store. Store words that queries use, or give feedback to teach them.",
        high=0.4,
        severity=WARNING,
        critical=0.8,
        window=DAY,
        recalls=100,
    ),
    Signal(
        "feedback_compliance_rate",
        "Share of answers that got feedback",
        lambda c: _share(c.sum("judged", SETTLED), c.sum("answered", SETTLED), least=20),
        "The memory learns from feedback only. caller_feedback lists callers that give none; have those agents "
        "call POST /feedback.",
        low=0.5,
        severity=WARNING,
        window=DAY,
        recalls=100,
    ),
    Signal(
        "avg_hops_per_retrieval",
        "Links followed to each result, on average",
        lambda c: _share(c.sum("hops", WEEK), c.sum("recalls", WEEK), least=20),
        "Results are many links away from their queries. Lower MAX_HOPS, or store names and dates that queries use.",
        high=4.0,
        severity=WARNING,
        window=WEEK,
        recalls=500,
    ),
    Signal(
        "highway_count",
        "Links that feedback made strong (weight .8 or more)",
        lambda c: c.level("highways"),
        "A thousand recalls with feedback and no strong link: few results are rated useful. See {flux_learning list}.",
        low=1,
        days=14,
        judged=1000,
    ),
    Signal(
        "highway_growth_rate",
        "Links that became strong in the last week",
        _growth("formed"),
        "Many links are reinforced at once. Check with {flux_learning list} whether one caller rates everything as "
        "useful.",
        low=0,
        high=100,
        window=WEEK,
        days=14,
    ),
    Signal(
        "shortcut_creation_rate",
        "Shortcuts between memories that are useful together, per 100 recalls",
        lambda c: None if c.sum("recalls", WEEK) < 20 else 100 * c.sum("shortcuts", WEEK) / c.sum("recalls", WEEK),
        "Many memories are always useful together: they may say the same. Raise SHORTCUT_THRESHOLD.",
        low=0,
        high=10,
        window=WEEK,
        recalls=100,
    ),
    Signal(
        "conduit_dissolution_rate",
        "Share of links removed in the last day",
        lambda c: _share(c.sum("dissolved", DAY), c.level("conduits") + c.sum("dissolved", DAY), least=50),
        "Links are removed faster than new ones form. See what clean-up did ({flux_jobs list}), raise the half-lives "
        "or CLEANUP_STALE_HOURS.",
        low=0,
        high=0.05,
        severity=WARNING,
        critical=0.25,
        window=DAY,
        days=7,
    ),
    Signal(
        "avg_weight_drop_on_failure",
        "Share of its weight a link loses when its result was not useful",
        lambda c: _share(c.sum("drop", WEEK), c.sum("dropped", WEEK), least=10),
        "Low: negative feedback changes nothing; high: one rating undoes much. DECAY_FACTOR sets it.",
        low=0.005,
        high=0.2,
        window=WEEK,
        recalls=100,
    ),
    Signal(
        "avg_conduit_weight",
        "Average weight of links",
        lambda c: _share(c.level("weight"), c.level("conduits"), least=50),
        "Low: links have little effect; high: all links count alike. Check who gives feedback ({flux_learning list}).",
        low=0.15,
        high=0.75,
        severity=WARNING,
        days=7,
    ),
    Signal(
        "orphan_rate",
        "Share of active memories without any link",
        lambda c: _share(c.level("orphans"), c.level("active")),
        "Many memories have no links. Store with a session, names and dates; {flux_reembed} links similar ones.",
        high=0.15,
        severity=WARNING,
        critical=0.5,
        days=7,
        grains=50,
    ),
    Signal(
        "promotion_events",
        "Memories that became core within a week, per 100 active ones",
        lambda c: None if c.level("active") < 50 else 100 * c.sum("promoted", WEEK) / c.level("active"),
        "With so many core memories, core has no meaning any more. Raise PROMOTION_THRESHOLD.",
        low=0,
        high=20,
        window=WEEK,
        days=14,
        grains=50,
    ),
    Signal(
        "core_grain_count",
        "Core memories; at most half of the active ones should be core",
        lambda c: c.level("core"),
        "Most memories are core, so core has no meaning any more. Raise PROMOTION_THRESHOLD.",
        low=0,
        high=0.5,
        of="active",
        days=14,
        grains=50,
    ),
    Signal(
        "dormant_grain_rate",
        "Share of memories that are dormant: not used for long",
        lambda c: _share(c.level("dormant"), c.level("active") + c.level("dormant")),
        "Many memories are not used. Dormant ones are still recalled when nothing else is found; pin what must stay.",
        low=0,
        high=0.4,
        days=14,
        grains=50,
    ),
    Signal(
        "provenance_skew",
        "Largest share of one caller's stores of a day with provenance user_stated",
        _skew,
        "An agent stores almost everything as stated by a person. Lower the maximum provenance of its token.",
        high=0.9,
        severity=WARNING,
        window=DAY,
    ),
    Signal(
        "hit_rate",
        "Share of recalls with feedback of a week in which something was useful",
        lambda c: _share(c.sum("hits", WEEK), c.sum("judged", WEEK), least=20),
        "Compare the weeks: did queries change, or what is stored? {flux_eval} shows whether feedback helps.",
        low=0.5,
        window=WEEK,
        recalls=100,
    ),
    Signal(
        "calibration_error",
        "Difference between confidence and feedback, on average",
        lambda c: calibration_error(c.sums.get(MONTH, {})),
        "Confidence is not accurate here: compare it between answers only, and choose min_score by trial.",
        high=0.35,
        window=MONTH,
        recalls=100,
    ),
    Signal(
        "learning_gain",
        "Change of nDCG by feedback on other queries, in the last evaluation",
        lambda c: c.gain,
        "Feedback makes answers worse. Find whose: {flux_learning list}. Withdraw it: "
        "{flux_learning undo --caller CALLER}.",
        low=-0.02,
        severity=WARNING,
        dwell=1,
    ),
)
SIGNALS_BY_NAME = {signal.name: signal for signal in SIGNALS}
