"""config.yaml: the keys flux-memory users know, with their defaults."""

from __future__ import annotations

import dataclasses

import pytest

from fluxcore import config

SEED = {
    "ATTENUATION": 0.85,
    "ACTIVATION_THRESHOLD": 0.15,
    "MAX_HOPS": 5,
    "TOP_K": 5,
    "LEARNING_RATE": 0.05,
    "DECAY_FACTOR": 0.85,
    "WEIGHT_CEILING": 0.95,
    "WEIGHT_FLOOR": 0.05,
    "HALF_LIFE_CORE_HOURS": 720,
    "HALF_LIFE_WORKING_HOURS": 168,
    "HALF_LIFE_EPHEMERAL_HOURS": 48,
    "PROMOTION_THRESHOLD": 3,
    "CLUSTER_TOUCH_THRESHOLD": 1.0,
    "ENTRY_COOCCURRENCE_THRESHOLD": 10,
    "CLUSTER_MIN_SIZE": 3,
    "LOUVAIN_RESOLUTION": 1.0,
    "LOUVAIN_SEED": 42,
    "CLUSTER_RECOMPUTE_MIN_INTERVAL_DAYS": 7,
    "CLUSTER_INHERIT_OVERLAP_MIN": 0.30,
    "CLUSTER_DISSOLVE_DECAY": 0.5,
    "TRACE_RETENTION_COUNT": 10_000,
    "TRACE_RETENTION_DAYS": 30,
    "EXPANSION_CONFIDENCE_THRESHOLD": 0.4,
    "EXPANSION_CANDIDATES_PER_CLUSTER": 2,
    "EXPANSION_MAX_CANDIDATES": 3,
    "EXPANSION_ENABLED": True,
    "CONTEXT_SHIFT_WINDOW": 30,
    "CONTEXT_SHIFT_DROP_THRESHOLD": 0.25,
    "CONTEXT_SHIFT_RECOVERY_RETRIEVALS": 50,
    "CONTEXT_SHIFT_ENABLED": True,
    "USEFULNESS_WINDOW_DAYS": 7,
    "QUARANTINE_USEFULNESS_THRESHOLD": 0.2,
    "QUARANTINE_MIN_RETRIEVALS": 10,
    "QUARANTINE_CORRECTION_COUNT": 3,
    "QUARANTINE_PERIOD_DAYS": 30,
    "CORRECTION_DETECTION_TURNS": 3,
    "CLEANUP_INTERVAL_HOURS": 6,
    "CLEANUP_STALE_HOURS": 72,
    "CLEANUP_BATCH_SIZE": 1000,
    "NEW_CONDUIT_GRACE_HOURS": 72,
    "NEW_CONDUIT_GRACE_MULTIPLIER": 2,
    "NEW_CONDUIT_MIN_WEIGHT": 0.10,
    "INITIAL_SHORTCUT_WEIGHT": 0.5,
    "INITIAL_ENTRY_WEIGHT": 0.5,
    "INITIAL_WEIGHT_SCALE": 0.5,
    "SHORTCUT_THRESHOLD": 3,
    "MAX_EDGES_PER_GRAIN": 50,
    "DORMANCY_LIMIT_DAYS": 30,
    "EXPLORATION_BOOST": 1.5,
    "PURGE_UNDO_WINDOW_HOURS": 24,
    "LLM_BASE_URL": "http://localhost:11434",
    "LLM_MODEL": "llama3.1:8b",
    "LLM_TIMEOUT_SECONDS": 30,
    "EMBEDDING_MODEL_NAME": "all-MiniLM-L6-v2",
    "MCP_HOST": "127.0.0.1",
    "MCP_PORT": 7464,
    "REST_HOST": "127.0.0.1",
    "REST_PORT": 7465,
    "DASHBOARD_HOST": "127.0.0.1",
    "DASHBOARD_PORT": 7462,
    "READ_WORKERS": 3,
    "MAX_GRAINS_PER_CALL": 100,
    "MAX_WRITE_QUEUE_DEPTH": 1000,
    "MAX_GRAINS_PER_MINUTE": 500,
    "FEEDBACK_ENFORCEMENT_ENABLED": True,
    "FEEDBACK_ENFORCEMENT_GRACE_SECONDS": 60,
    "FEEDBACK_ENFORCEMENT_MAX_BLOCK_SECONDS": 86_400,
    "DEDUP_SIMILARITY_THRESHOLD": 0.90,
    "EPISTEMIC_CHECK_SIMILARITY": 0.82,
    "HEALTH_TICK_MINUTES": 15,
    "ALERTS_ENABLED": False,
    "ALERT_MIN_INTERVAL_HOURS": 6,
    "MCP_SERVER_NAME": "flux-memory",
}
# Known to flux-memory and not used yet: read, checked, and warned about when somebody sets them.
NOT_USED_YET = {
    "EPISTEMIC_CHECK_ENABLED": True,
    "CONTRADICTION_CONFIDENCE_PENALTY": 0.5,
    "SUPERSEDED_CONFIDENCE_PENALTY": 0.4,
    "CONFIRMATION_CONFIDENCE_BOOST": 1.15,
    "AI_INFERRED_CONFIDENCE_HALFLIFE_DAYS": 30,
    "CONFIDENCE_RETRIEVAL_WEIGHT": 0.5,
    "DREAM_ENABLED": True,
    "DREAM_INTERVAL_HOURS": 24,
    "DREAM_MIN_CLUSTER": 6,
    "DREAM_MAX_CLUSTER": 25,
    "DREAM_SIMILARITY": 0.75,
    "DREAM_CENTROID_MIN": 0.78,
    "DREAM_MAX_PER_CYCLE": 3,
    "DREAM_MIN_GRAIN_AGE_HOURS": 24,
}
# flux-memory's own default was flux_extracts; here no local model is needed to begin with.
OURS = {
    "BLOBS_URL": "",
    "MAX_FILE_BYTES": 64 * 2**20,
    "MAX_STORES_PER_SPACE": 10_000,
    "MAX_STORE_BYTES_PER_SPACE": 10 * 2**30,
    "MAX_STORE_FILES": 100_000,
    "MAX_FILE_WRITES_PER_MINUTE": 3000,
    "STORE_UNDELETE_DAYS": 30,
    "STORE_LOG_DAYS": 90,
    "REST_OPEN_TO_LOOPBACK": "",
    "REQUEST_SECONDS": 10,
    "MAX_CONNECTIONS": 1024,
    "MAX_CONNECTIONS_PER_SOURCE": 512,
    "MAX_GRAINS_PER_AGENT": 1_000_000,
    "MAX_BYTES_PER_AGENT": 2**30,
    "MAX_GRAINS_PER_SPACE": 5_000_000,
    "MAX_BYTES_PER_SPACE": 5 * 2**30,
    "MAX_BOARDS_PER_AGENT": 20,
    "MAX_BOARDS_PER_SPACE": 500,
    "LLM_AGENT_SHARE": 0.5,
    "AUDIT_CHECKPOINT_MINUTES": 60,
    "OPERATING_MODE": "caller_extracts",
    "MAX_GRAIN_BYTES": 16_384,
    "MAX_RECALLS_PER_MINUTE": 6000,
    "MAX_TRACE_BYTES_PER_HOUR": 67_108_864,
    "ARENA_MEMORY_MB": 1024,
    "MAX_VOTES_PER_MINUTE": 3000,
    "IMPLIED_VOTES_ENABLED": True,
    "IMPLIED_VOTE_STRENGTH": 0.2,
    "LLM_CALLS_PER_DAY": 2_000,
    "LLM_TOKENS_PER_DAY": 4_000_000,
    "LLM_QUERY_WORDS_ENABLED": False,
    "LLM_QUERY_MILLISECONDS": 150,
    "CLOCK_JUMP_HOURS": 72,
    "CLOCK_DOUBT_HOURS": 24,
    "ALERT_WEBHOOK_URL": "",
    "ALERT_WEBHOOK_SECRET": "",
    "ALERT_PRIVATE_ADDRESSES": False,
    "ALERT_LEAST_SEVERITY": "WARNING",
    "MAX_KV_VALUE_BYTES": 262_144,
    "MAX_KV_KEYS": 100_000,
    "MAX_KV_BYTES": 268_435_456,
    "MAX_KV_WRITES_PER_MINUTE": 6000,
    "KV_HISTORY_VERSIONS": 10,
    "KV_HISTORY_DAYS": 30,
    "KV_EXPIRY_GRACE_HOURS": 24,
    "KV_TOMBSTONES": 100_000,
    "KV_WATCH_DAYS": 7,
    "DORMANCY_UNUSED_DAYS": 90,
    "DEMOTION_UNUSED_DAYS": 90,
}


@pytest.mark.parametrize(("name", "value"), sorted({**SEED, **NOT_USED_YET, **OURS}.items()))
def test_every_default_is_the_documented_one(name, value):
    assert getattr(config.Config(), name) == value


def test_every_key_is_in_this_table():
    assert set(config.FIELDS) == {*SEED, *NOT_USED_YET, *OURS}


def test_a_configuration_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.Config().TOP_K = 6


@pytest.mark.parametrize("name", sorted(config.FIELDS))
def test_every_key_has_a_sentence_and_a_default_within_its_range(name):
    item = config.FIELDS[name]
    rule = item.metadata
    assert 5 <= len(rule["says"]) <= 80
    if item.type in ("int", "float"):
        assert rule["low"] <= item.default <= rule["high"]


@pytest.mark.parametrize("name", ["REST_PORT", "MCP_HOST", "READ_WORKERS", "OPERATING_MODE", "EMBEDDING_MODEL_NAME"])
def test_keys_used_only_at_the_start_are_not_hot(name):
    assert config.FIELDS[name].metadata["hot"] is False


def test_a_rendered_file_has_every_key_and_can_be_read():
    text = config.render(config.Config())
    assert config.parse(text) == config.Config()
    for name in {*SEED, *OURS}:
        assert f"{name}: " in text


def test_a_key_that_is_not_used_yet_is_read_and_warned_about():
    assert {name for name, item in config.FIELDS.items() if item.metadata["comes_with"]} == set(NOT_USED_YET)
    assert config.read(config.render(config.Config())).warnings == ()
    for value in (9, config.Config().DREAM_MAX_CLUSTER):  # whoever writes the default down expects something of it
        assert config.read(f"DREAM_MAX_CLUSTER: {value}\n").warnings == (
            "config.yaml, line 1: DREAM_MAX_CLUSTER is not used yet: it is planned for consolidation and has no effect",
        )
    assert not any(name in config.render(config.Config()) for name in NOT_USED_YET)
    chosen = config.Config(DREAM_MAX_CLUSTER=9)
    assert config.parse(config.render(chosen)) == chosen


@pytest.mark.parametrize("name", sorted(config.REMOVED))
def test_a_removed_key_is_skipped_with_a_warning(name, caplog):
    found = config.read(f"TOP_K: 7\n{name}: anything\n")
    assert found.config == config.Config(TOP_K=7)
    assert found.warnings == (f"config.yaml, line 2: {name} has no effect. {config.REMOVED[name]} Delete the line.",)
    assert name not in config.FIELDS
    assert config.Config(**{name: "anything", "TOP_K": 7}) == found.config
    assert name in caplog.text


def test_endless_nesting_is_refused():
    with pytest.raises(config.ConfigError, match="nested"):
        config.parse("TOP_K: " + "[" * 20_000)


def test_rendered_values_are_read_back_the_same():
    chosen = dataclasses.replace(
        config.Config(),
        OPERATING_MODE="flux_extracts",
        REST_PORT=0,
        TOP_K=9,
        EXPANSION_ENABLED=False,
        LLM_MODEL="a: tricky # name",
        HALF_LIFE_CORE_HOURS=1e6,
    )
    assert config.parse(config.render(chosen)) == chosen


def test_a_key_that_was_not_set_is_rendered_as_a_comment():
    lines = config.render(config.Config()).splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        "OPERATING_MODE: caller_extracts  # who extracts the features of a text: the caller or the local model"
    ]
