"""config.yaml: every number that shapes behaviour, with its default, its range and one sentence.

Unknown or ill-typed keys are refused with their line. Values marked hot are picked up by running
processes within a second; the others need a restart and `flux_status` says so.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import yaml

log = logging.getLogger(__name__)

# How fast a path learns from a grain's usefulness, by the grain's provenance: not what may be believed.
PROVENANCE_MULTIPLIERS = {
    "user_confirmed": 1.0,
    "user_stated": 1.0,
    "external_source": 0.9,
    "ai_stated": 0.5,
    "ai_inferred": 0.3,
    "unknown": 0.3,
}


class ConfigError(ValueError):
    """config.yaml cannot be used; the message names file and line."""


def _key(
    default: Any,
    says: str,
    *,
    low: float | None = None,
    high: float | None = None,
    allowed: tuple[str, ...] | None = None,
    hot: bool = False,
    unused: bool = False,
) -> Any:
    rule = {"says": says, "low": low, "high": high, "allowed": allowed, "hot": hot, "unused": unused}
    return field(default=default, metadata=rule)


@dataclass(frozen=True)
class Config:
    """The instance's choices. Names and defaults are those flux-memory users know."""

    OPERATING_MODE: str = _key(
        "caller_extracts", "who finds the features of a text", allowed=("caller_extracts", "flux_extracts")
    )
    # Doors
    REST_HOST: str = _key("127.0.0.1", "address of the REST door")
    REST_PORT: int = _key(7465, "port of the REST door; 0 picks a free one", low=0, high=65535)
    REST_OPEN_TO_LOOPBACK: str = _key("", "agent that local programs without a token act as; empty: none", hot=True)
    MCP_HOST: str = _key("127.0.0.1", "address of the MCP door")
    MCP_SERVER_NAME: str = _key("flux-memory", "name the MCP door gives itself")
    MCP_PORT: int = _key(7464, "port of the MCP door; 0 picks a free one", low=0, high=65535)
    DASHBOARD_HOST: str = _key("127.0.0.1", "address of the people's door")
    DASHBOARD_PORT: int = _key(7462, "port of the people's door; 0 picks a free one", low=0, high=65535)
    REQUEST_SECONDS: float = _key(
        10.0,
        "seconds until a request's headers are complete; its body has a little more",
        low=0.5,
        high=600,
    )
    MAX_CONNECTIONS: int = _key(1024, "open connections of a server process", low=16, high=100_000)
    MAX_CONNECTIONS_PER_SOURCE: int = _key(
        512, "open connections of one source address to the dashboard and MCP servers", low=8, high=100_000
    )
    # Booths and limits
    READ_WORKERS: int = _key(3, "recalls that run at once in a process", low=1, high=64)
    ARENA_MEMORY_MB: int = _key(
        1024, "memory for indexes of spaces in a process, megabytes", low=1, high=1_000_000, hot=True
    )
    MAX_GRAINS_PER_CALL: int = _key(100, "items of one batch", low=1, high=1000, hot=True)
    MAX_GRAINS_PER_MINUTE: int = _key(
        500,
        "grains one caller of an agent may store in any 60 seconds; the agent 4 times",
        low=1,
        high=1_000_000,
        hot=True,
    )
    MAX_VOTES_PER_MINUTE: int = _key(
        3000, "votes one agent may give in any 60 seconds", low=1, high=1_000_000, hot=True
    )
    MAX_RECALLS_PER_MINUTE: int = _key(
        6000, "recalls one agent may make in any 60 seconds", low=1, high=10_000_000, hot=True
    )
    MAX_WRITE_QUEUE_DEPTH: int = _key(1000, "writers that may wait for the write booth", low=1, high=100_000, hot=True)
    MAX_GRAINS_PER_AGENT: int = _key(1_000_000, "grains stored by one agent", low=1, high=10**10, hot=True)
    MAX_BYTES_PER_AGENT: int = _key(
        1_073_741_824, "UTF-8 bytes of the grains stored by one agent", low=1, high=10**13, hot=True
    )
    MAX_GRAINS_PER_SPACE: int = _key(5_000_000, "grains of a space", low=1, high=10**10, hot=True)
    MAX_BYTES_PER_SPACE: int = _key(5_368_709_120, "UTF-8 bytes of the grains of a space", low=1, high=10**13, hot=True)
    MAX_GRAIN_BYTES: int = _key(16_384, "UTF-8 bytes of one grain", low=1, high=4 * 1024 * 1024, hot=True)
    # Exact memory
    MAX_KV_VALUE_BYTES: int = _key(
        262_144, "bytes of one value as canonical JSON", low=1, high=4 * 1024 * 1024, hot=True
    )
    MAX_KV_KEYS: int = _key(100_000, "keys of one agent's memory, and of one board", low=1, high=100_000_000, hot=True)
    MAX_KV_BYTES: int = _key(
        268_435_456,
        "bytes of values and their history in one agent's memory, and on one board",
        low=1,
        high=10**12,
        hot=True,
    )
    MAX_BOARDS_PER_AGENT: int = _key(20, "boards one agent may have made", low=0, high=100_000, hot=True)
    MAX_BOARDS_PER_SPACE: int = _key(500, "boards of a space", low=1, high=100_000, hot=True)
    MAX_KV_WRITES_PER_MINUTE: int = _key(
        6000, "keys, locks and tasks one agent may change in any 60 seconds", low=1, high=10_000_000, hot=True
    )
    KV_HISTORY_VERSIONS: int = _key(10, "earlier versions kept of each key", low=0, high=1000, hot=True)
    KV_HISTORY_DAYS: float = _key(30.0, "days an earlier version is kept at most", low=0, high=3650, hot=True)
    KV_EXPIRY_GRACE_HOURS: float = _key(
        24.0, "hours after which an expired value is destroyed; it is hidden at once", low=0, high=8760, hot=True
    )
    KV_TOMBSTONES: int = _key(
        100_000, "deleted keys of a namespace whose last version is remembered", low=0, high=100_000_000, hot=True
    )
    KV_WATCH_DAYS: float = _key(7.0, "days a watch can go back", low=0.1, high=3650, hot=True)
    # Local model (flux_extracts)
    LLM_BASE_URL: str = _key("http://localhost:11434", "address of the local model server")
    LLM_MODEL: str = _key("llama3.1:8b", "model used to extract features")
    LLM_TIMEOUT_SECONDS: float = _key(30.0, "longest wait for the model", low=0.1, high=600, hot=True)
    LLM_CALLS_PER_DAY: int = _key(
        2_000, "calls of the model one space may make in a day (UTC)", low=0, high=10_000_000, hot=True
    )
    LLM_TOKENS_PER_DAY: int = _key(
        4_000_000, "tokens one space may spend on the model in a day (UTC)", low=0, high=10**12, hot=True
    )
    LLM_AGENT_SHARE: float = _key(
        0.5, "share of those calls and tokens for one agent, where a space has several", low=0.01, high=1, hot=True
    )
    LLM_QUERY_WORDS_ENABLED: bool = _key(
        False, "let the model add words to a question, in the mode flux_extracts", hot=True
    )
    LLM_QUERY_MILLISECONDS: float = _key(
        150.0, "longest wait of a question for the model's words", low=1, high=150, hot=True
    )
    # Propagation
    ATTENUATION: float = _key(0.85, "signal kept per hop", low=0, high=1, hot=True)
    ACTIVATION_THRESHOLD: float = _key(0.15, "weakest signal that travels on", low=0, high=1, hot=True)
    MAX_HOPS: int = _key(5, "longest path of a signal", low=0, high=10, hot=True)
    TOP_K: int = _key(5, "grains returned when the caller does not say", low=1, high=100, hot=True)
    # Learning
    LEARNING_RATE: float = _key(0.05, "step towards the ceiling for a useful path", low=0, high=1, hot=True)
    DECAY_FACTOR: float = _key(0.85, "weight kept after a full negative vote", low=0, high=1, hot=True)
    WEIGHT_CEILING: float = _key(0.95, "strongest conduit", low=0, high=1, hot=True)
    WEIGHT_FLOOR: float = _key(0.05, "weakest conduit that is kept", low=0, high=1, hot=True)
    INITIAL_ENTRY_WEIGHT: float = _key(0.5, "weight of a new entry conduit", low=0, high=1, hot=True)
    INITIAL_SHORTCUT_WEIGHT: float = _key(0.5, "weight of a new shortcut", low=0, high=1, hot=True)
    INITIAL_WEIGHT_SCALE: float = _key(0.5, "neighbour weight per cosine", low=0, high=1, hot=True)
    SHORTCUT_THRESHOLD: int = _key(3, "useful co-recalls that form a shortcut", low=1, high=1000, hot=True)
    MAX_EDGES_PER_GRAIN: int = _key(50, "conduits one grain may hold", low=1, high=10_000, hot=True)
    # Decay, in hours since last use
    HALF_LIFE_CORE_HOURS: float = _key(720.0, "half-life of core conduits, hours", low=1, high=1e6, hot=True)
    HALF_LIFE_WORKING_HOURS: float = _key(168.0, "half-life of working conduits, hours", low=1, high=1e6, hot=True)
    HALF_LIFE_EPHEMERAL_HOURS: float = _key(48.0, "half-life of ephemeral ones, hours", low=1, high=1e6, hot=True)
    NEW_CONDUIT_GRACE_HOURS: float = _key(72.0, "a new conduit decays slower this long", low=0, high=1e5, hot=True)
    NEW_CONDUIT_GRACE_MULTIPLIER: float = _key(2.0, "half-life factor in the grace time", low=1, high=100, hot=True)
    NEW_CONDUIT_MIN_WEIGHT: float = _key(0.10, "weight floor in the grace time", low=0, high=1, hot=True)
    DORMANCY_LIMIT_DAYS: float = _key(30.0, "days dormant before a grain is archived", low=1, high=1e5, hot=True)
    DORMANCY_UNUSED_DAYS: float = _key(
        90.0, "days in which no recall returned a grain before it may become dormant", low=1, high=1e5, hot=True
    )
    # Clusters and promotion
    PROMOTION_THRESHOLD: int = _key(3, "clusters a grain must touch to become core", low=1, high=1000, hot=True)
    DEMOTION_UNUSED_DAYS: float = _key(
        90.0, "days without a useful vote after which a core grain is a working one again", low=1, high=1e5, hot=True
    )
    CLUSTER_TOUCH_THRESHOLD: float = _key(1.0, "touch that counts", low=0, high=1e6, hot=True)
    CLUSTER_WINDOW_DAYS: float = _key(30.0, "days of co-occurrence used", low=1, high=3650, hot=True)
    CLUSTER_MIN_SIZE: int = _key(3, "smaller clusters join a neighbour", low=1, high=1000, hot=True)
    CLUSTER_RECOMPUTE_MIN_INTERVAL_DAYS: float = _key(7.0, "days between two clusterings", low=0, high=3650, hot=True)
    CLUSTER_INHERIT_OVERLAP_MIN: float = _key(0.30, "shared grains that keep a cluster's name", low=0, high=1, hot=True)
    CLUSTER_DISSOLVE_DECAY: float = _key(0.5, "touch kept when a cluster dissolves", low=0, high=1, hot=True)
    ENTRY_COOCCURRENCE_THRESHOLD: int = _key(10, "co-occurrences that link entries", low=1, high=1e6, hot=True)
    LOUVAIN_RESOLUTION: float = _key(1.0, "cluster granularity", low=0.01, high=100, hot=True)
    LOUVAIN_SEED: int = _key(42, "makes clusters repeatable", low=0, high=2**31, hot=True)
    # Fallback and expansion
    FALLBACK_CONFIDENCE_THRESHOLD: float = _key(0.25, "below it vectors step in", low=0, high=1, hot=True)
    VECTOR_FALLBACK_K: int = _key(10, "grains the vectors propose", low=1, high=1000, hot=True)
    VECTOR_FALLBACK_SCALE: float = _key(0.5, "signal of a proposed grain per cosine", low=0, high=1, hot=True)
    EXPANSION_ENABLED: bool = _key(True, "offer neighbours when confidence is low", hot=True)
    EXPANSION_CONFIDENCE_THRESHOLD: float = _key(0.4, "below it neighbours are offered", low=0, high=1, hot=True)
    EXPANSION_CANDIDATES_PER_CLUSTER: int = _key(2, "neighbours taken from one cluster", low=0, high=100, hot=True)
    EXPANSION_MAX_CANDIDATES: int = _key(3, "neighbours offered at most", low=0, high=100, hot=True)
    # Context shift: the agent has moved to another subject
    CONTEXT_SHIFT_ENABLED: bool = _key(True, "watch for a sudden drop of usefulness", hot=True)
    CONTEXT_SHIFT_WINDOW: int = _key(30, "recalls that are compared", low=2, high=10_000, hot=True)
    CONTEXT_SHIFT_DROP_THRESHOLD: float = _key(0.25, "drop that counts as a shift", low=0, high=1, hot=True)
    CONTEXT_SHIFT_RECOVERY_RETRIEVALS: int = _key(50, "recalls it lasts", low=1, high=100_000, hot=True)
    EXPLORATION_BOOST: float = _key(1.5, "how much more is offered meanwhile, and sooner", low=1, high=10, hot=True)
    # Feedback, quarantine and truth
    FEEDBACK_ENFORCEMENT_ENABLED: bool = _key(True, "remind agents that leave recalls unrated", hot=True)
    FEEDBACK_ENFORCEMENT_GRACE_SECONDS: float = _key(60.0, "seconds before a reminder", low=0, high=1e6, hot=True)
    FEEDBACK_ENFORCEMENT_MAX_BLOCK_SECONDS: float = _key(
        86_400.0, "seconds after which an unrated recall is forgiven", low=0, high=1e7, hot=True
    )
    USEFULNESS_WINDOW_DAYS: float = _key(7.0, "days of votes that count as recent", low=1, high=3650, hot=True)
    QUARANTINE_USEFULNESS_THRESHOLD: float = _key(0.2, "usefulness below which a grain is", low=0, high=1, hot=True)
    QUARANTINE_MIN_RETRIEVALS: int = _key(10, "recalls before it can be", low=1, high=100_000, hot=True)
    QUARANTINE_CORRECTION_COUNT: int = _key(3, "corrections that quarantine at once", low=1, high=1000, hot=True)
    QUARANTINE_PERIOD_DAYS: float = _key(30.0, "days in quarantine before a decision", low=0, high=3650, hot=True)
    CORRECTION_DETECTION_TURNS: int = _key(3, "turns in which a new statement corrects", low=1, high=100, hot=True)
    IMPLIED_VOTES_ENABLED: bool = _key(True, "take a rephrased question or a correction for a weak vote", hot=True)
    IMPLIED_VOTE_STRENGTH: float = _key(0.2, "strength of such a vote", low=0.1, high=1, hot=True)
    DEDUP_SIMILARITY_THRESHOLD: float = _key(
        0.90, "cosine of near-equal texts; above 1 none are", low=0, high=2, hot=True
    )
    EPISTEMIC_CHECK_ENABLED: bool = _key(True, "compare the truth of near-equal texts", hot=True)
    EPISTEMIC_CHECK_SIMILARITY: float = _key(0.82, "cosine above which truth is compared", low=0, high=1, hot=True)
    CONTRADICTION_CONFIDENCE_PENALTY: float = _key(0.5, "confidence kept when contradicted", low=0, high=1, hot=True)
    SUPERSEDED_CONFIDENCE_PENALTY: float = _key(0.4, "confidence kept when superseded", low=0, high=1, hot=True)
    CONFIRMATION_CONFIDENCE_BOOST: float = _key(1.15, "confidence factor when confirmed", low=1, high=10, hot=True)
    AI_INFERRED_CONFIDENCE_HALFLIFE_DAYS: float = _key(
        30.0, "days in which an unconfirmed inference loses half its bonus", low=0.1, high=3650, hot=True
    )
    CONFIDENCE_RETRIEVAL_WEIGHT: float = _key(0.5, "how much confidence counts in recall", low=0, high=1, hot=True)
    TOMBSTONE_ENABLED: bool = _key(True, "leave a mark where a linked grain was forgotten", hot=True)
    TOMBSTONE_MIN_DEGREE: int = _key(2, "links that make a forgotten grain leave a mark", low=0, high=1000, hot=True)
    # Consolidation: many related grains become one, in the quiet hours
    DREAM_ENABLED: bool = _key(True, "consolidate related grains", hot=True)
    DREAM_INTERVAL_HOURS: float = _key(24.0, "hours between consolidations", low=0.1, high=8760, hot=True)
    DREAM_MIN_CLUSTER: int = _key(6, "fewest grains worth consolidating", low=2, high=1000, hot=True)
    DREAM_MAX_CLUSTER: int = _key(25, "most grains consolidated into one", low=2, high=1000, hot=True)
    DREAM_SIMILARITY: float = _key(0.75, "cosine that makes grains related", low=0, high=1, hot=True)
    DREAM_CENTROID_MIN: float = _key(0.78, "cosine of the result to their middle", low=0, high=1, hot=True)
    DREAM_MAX_PER_CYCLE: int = _key(3, "consolidations at a time", low=0, high=1000, hot=True)
    DREAM_MIN_GRAIN_AGE_HOURS: float = _key(24.0, "younger grains are left alone", low=0, high=1e5, hot=True)
    # Cleaning up
    CLEANUP_INTERVAL_HOURS: float = _key(6.0, "hours between clean-ups", low=0.1, high=8760, hot=True)
    CLEANUP_STALE_HOURS: float = _key(72.0, "hours unused before a weak conduit may go", low=1, high=1e5, hot=True)
    CLEANUP_BATCH_SIZE: int = _key(1000, "conduits looked at in one step", low=1, high=100_000, hot=True)
    CLOCK_JUMP_HOURS: float = _key(
        72.0, "hours by which the clock must move at once to be doubted", low=1, high=8760, hot=True
    )
    CLOCK_DOUBT_HOURS: float = _key(
        24.0, "hours of running after which a clock that jumped is believed", low=0, high=8760, hot=True
    )
    # Retention and health
    TRACE_RETENTION_DAYS: float = _key(30.0, "days a trace is kept", low=1, high=3650, hot=True)
    TRACE_RETENTION_COUNT: int = _key(
        10_000, "newest traces of a space that outlive their first hour", low=0, high=10_000_000, hot=True
    )
    MAX_TRACE_BYTES_PER_HOUR: int = _key(
        67_108_864,
        "bytes of traces one agent may leave in an hour; later ones keep ids and scores",
        low=0,
        high=10**12,
        hot=True,
    )
    HEALTH_TICK_MINUTES: float = _key(15.0, "minutes between health snapshots; 0: none", low=0, high=1440)
    # Alerts: the one thing that connects out, and only to where an operator says
    ALERTS_ENABLED: bool = _key(False, "send warnings about health to ALERT_WEBHOOK_URL", hot=True)
    ALERT_WEBHOOK_URL: str = _key("", "http or https address that warnings are posted to", hot=True)
    ALERT_WEBHOOK_SECRET: str = _key("", "key that signs what is posted, at least 16 characters", hot=True)
    ALERT_PRIVATE_ADDRESSES: bool = _key(False, "the webhook may lie on this machine or its network", hot=True)
    ALERT_LEAST_SEVERITY: str = _key(
        "WARNING", "what is not sent below it", allowed=("INFO", "WARNING", "CRITICAL"), hot=True
    )
    ALERT_MIN_INTERVAL_HOURS: float = _key(
        6.0, "hours between two alerts about one signal of a space", low=0, high=1e5, hot=True
    )
    AUDIT_CHECKPOINT_MINUTES: int = _key(
        60, "minutes between signed checkpoints of the audit chains; 0: only by command", low=0, high=10_080, hot=True
    )
    PURGE_UNDO_WINDOW_HOURS: float = _key(
        24.0, "hours of running in which a deletion can be undone", low=0, high=8760, hot=True
    )
    EMBEDDING_MODEL_NAME: str = _key(
        "all-MiniLM-L6-v2",
        "encoder of texts and queries; without its package the next one is used",
        allowed=("all-MiniLM-L6-v2", "wordllama", "hashed", "none"),
    )
    # For rooms to come; set to anything else they are warned about
    BLOBS_URL: str = _key("", "not used yet: address of blob storage; empty: the data home", unused=True)
    MAX_FILE_BYTES: int = _key(
        67_108_864, "not used yet: bytes of one file that is sent or stored", low=1, high=2**40, hot=True, unused=True
    )
    # Known so that an old file can be read; set to anything else they are warned about
    ADMIN_REST_HOST: str = _key("127.0.0.1", "without effect: the admin is at the people's door", unused=True)
    ADMIN_REST_PORT: int = _key(
        7463, "without effect: the admin is at the people's door", low=0, high=65535, unused=True
    )
    ALERT_TELEGRAM_BOT_TOKEN: str = _key("", "without effect: alerts go to ALERT_WEBHOOK_URL", unused=True)
    ALERT_TELEGRAM_CHAT_ID: str = _key("", "without effect: alerts go to ALERT_WEBHOOK_URL", unused=True)

    def provenance_multiplier(self, provenance: str) -> float:
        """How much a vote on a grain of this provenance counts; half for a name nobody knows."""
        return PROVENANCE_MULTIPLIERS.get(provenance, 0.5)

    def half_life_hours(self, decay_class: str) -> float:
        """Half-life of a conduit of this class in hours; that of working ones for a name nobody knows."""
        return {"core": self.HALF_LIFE_CORE_HOURS, "ephemeral": self.HALF_LIFE_EPHEMERAL_HOURS}.get(
            decay_class, self.HALF_LIFE_WORKING_HOURS
        )

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str]) -> Config:
        """A configuration from any file of keys, as flux-memory reads one: unknown keys are logged and skipped."""
        return parse(Path(path).expanduser().read_text(encoding="utf-8"), source=str(path), skip_unknown=True)


FIELDS = {item.name: item for item in fields(Config)}
_TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}


def parse(text: str, *, source: str = "config.yaml", skip_unknown: bool = False) -> Config:
    """Read YAML text, refusing anything the instance would silently ignore or misread."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except RecursionError:
        raise ConfigError(f"{source}: nested far too deeply.") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}, line {_line(error, text)}: not valid YAML ({_problem(error)}).") from None
    if node is None:
        return Config()
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError(f"{source}, line {node.start_mark.line + 1}: expected `KEY: value` lines.")
    values: dict[str, Any] = {}
    for key_node, value_node in node.value:
        where = f"{source}, line {key_node.start_mark.line + 1}"
        name = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "a list or mapping"
        if name not in FIELDS and skip_unknown:
            log.warning("%s: the key %r is not known and was skipped", where, name)
            continue
        if name not in FIELDS:
            raise ConfigError(f"{where}: unknown key {name!r}.{_did_you_mean(name)}")
        if name in values:
            raise ConfigError(f"{where}: {name} is set twice.")
        values[name] = _checked(name, _plain(name, value_node, where), where)
    return Config(**values)


def _line(error: yaml.YAMLError, text: str) -> int:
    mark = getattr(error, "problem_mark", None)
    return mark.line + 1 if mark else text.count("\n", 0, getattr(error, "position", 0)) + 1


def _problem(error: yaml.YAMLError) -> str:
    return str(getattr(error, "problem", None) or getattr(error, "reason", None) or type(error).__name__)


def _plain(name: str, node: yaml.Node, where: str) -> Any:
    """The value of one key. No key holds a list or a mapping, so none is ever built."""
    if not isinstance(node, yaml.ScalarNode):
        raise ConfigError(f"{where}: {name} must be a single value.")
    try:
        return yaml.SafeLoader("").construct_object(node)
    except (yaml.YAMLError, ValueError):
        raise ConfigError(f"{where}: {name} cannot be read as a value.") from None


def _checked(name: str, value: Any, where: str) -> Any:
    item = FIELDS[name]
    wanted = _TYPES[str(item.type)]
    if wanted is float and type(value) is int:
        value = float(value)
    if type(value) is not wanted:
        raise ConfigError(f"{where}: {name} must be {_article(wanted)}, not {value!r}.")
    rule = item.metadata
    if rule["allowed"] and value not in rule["allowed"]:
        raise ConfigError(f"{where}: {name} must be one of {', '.join(rule['allowed'])}, not {value!r}.")
    if rule["low"] is not None and not rule["low"] <= value <= rule["high"]:
        raise ConfigError(f"{where}: {name} must be between {rule['low']} and {rule['high']}, not {value!r}.")
    return value


def _article(kind: type) -> str:
    return {str: "text", int: "a whole number", float: "a number", bool: "true or false"}[kind]


def _did_you_mean(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name.upper(), FIELDS, n=1)
    return f" Did you mean {close[0]}?" if close else ""


def without_effect(config: Config) -> list[str]:
    """What somebody has set and nothing reads, each with the reason."""
    return [
        f"{name} is {item.metadata['says']}"
        for name, item in FIELDS.items()
        if item.metadata["unused"] and getattr(config, name) != item.default
    ]


def bound(config: Config) -> dict[str, Any]:
    """What a running instance keeps from its start, whatever the file says since."""
    return {name: getattr(config, name) for name, item in FIELDS.items() if not item.metadata["hot"]}


def load(path: Path) -> Config:
    """The configuration in that file; the defaults where there is no file yet."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error}).") from None
    return parse(text, source=str(path))


def render(config: Config) -> str:
    """A config.yaml that shows every key with its meaning and, read back, gives this configuration."""
    lines = ["# Flux Memory. `hot` values take effect within a second, the others at the next start."]
    for item in fields(config):
        if item.metadata["unused"]:
            continue
        value = getattr(config, item.name)
        mark = " (hot)" if item.metadata["hot"] else ""
        shown = yaml.safe_dump({item.name: value}, default_flow_style=False).strip()
        # Only choices are written out; the rest stays a comment so that a later release can improve a
        # default nobody decided on.
        prefix = "" if item.name == "OPERATING_MODE" or value != item.default else "# "
        lines.append(f"{prefix}{shown}  # {item.metadata['says']}{mark}")
    return "\n".join(lines) + "\n"


class Live:
    """The configuration as it is now: hot keys follow the file, the rest stay as they were at start."""

    def __init__(self, path: Path, started_with: Config) -> None:
        self._path = path
        self._start = started_with
        self.seen = self._followed = started_with  # with what a program holds itself, and without
        # Not the file's own stamp: it may have changed since the process read it, so the first look reads it again.
        self._stamp: tuple[int, int] | None = (0, 0) if self._read_stamp() else None
        self.next_look = 0.0
        self._lock = threading.Lock()
        self.problem: str | None = None
        self.waiting_for_restart: list[str] = []
        self._held: dict[str, Any] = {}

    def hold(self, own: Config) -> None:
        """For a program that opens an instance itself: what it sets goes before the file, the rest follows it.

        What an earlier call of this process set and this one leaves alone is the file's again.
        """
        changed = [name for name, item in FIELDS.items() if getattr(own, name) != item.default]
        held = {name: _checked(name, getattr(own, name), "Config") for name in changed}
        freed = {name: getattr(self._followed, name) for name in self._held}
        self._held, self.seen = held, replace(self.seen, **(freed | held))

    def _read_stamp(self) -> tuple[int, int] | None:
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size

    def __call__(self) -> Config:
        with self._lock:
            if time.monotonic() >= self.next_look:
                stamp = self._read_stamp()
                if stamp != self._stamp:
                    self._stamp = stamp
                    self._reload()
                # Last: until the file is read, other threads wait here instead of going on with the old values.
                self.next_look = time.monotonic() + 1.0
        return self.seen

    def _reload(self) -> None:
        try:
            if self._stamp is None:
                raise ConfigError(f"{self._path}: the file is gone; the values it had are kept.")
            wanted = load(self._path)
        except ConfigError as error:
            # A running server keeps its last good values; flux_status shows the problem.
            self.problem = str(error)
            return
        self.problem = None
        merged = {name: getattr(wanted if item.metadata["hot"] else self._start, name) for name, item in FIELDS.items()}
        self._followed, self.seen = Config(**merged), Config(**(merged | self._held))
        self.waiting_for_restart = [name for name in FIELDS if getattr(wanted, name) != merged[name]]


_live: Live | None = None


def current() -> Config:
    """The configuration of this process's instance, hot keys up to date."""
    here = _live or live()
    return here.seen if time.monotonic() < here.next_look else here()


def live() -> Live:
    global _live
    if _live is None:
        from django.conf import settings

        _live = Live(settings.HOME.config, settings.FLUX)
    return _live
