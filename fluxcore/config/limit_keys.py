"""Keys of config.yaml about limits: rates, sizes and numbers of what agents store."""

from __future__ import annotations

from dataclasses import dataclass

from fluxcore.config.key import key


@dataclass(frozen=True)
class LimitKeys:
    """Keys of what agents may store, recall and change, and of what is kept of keys and stores."""

    READ_WORKERS: int = key(3, "recalls that run at once in a process", low=1, high=64)
    ARENA_MEMORY_MB: int = key(
        1024, "memory for indexes of spaces in a process, megabytes", low=1, high=1_000_000, hot=True
    )
    MAX_GRAINS_PER_CALL: int = key(100, "items of one batch", low=1, high=1000, hot=True)
    MAX_GRAINS_PER_MINUTE: int = key(
        500,
        "grains one caller of an agent may store in any 60 seconds; the agent 4 times",
        low=1,
        high=1_000_000,
        hot=True,
    )
    MAX_VOTES_PER_MINUTE: int = key(3000, "votes one agent may give in any 60 seconds", low=1, high=1_000_000, hot=True)
    MAX_RECALLS_PER_MINUTE: int = key(
        6000, "recalls one agent may make in any 60 seconds", low=1, high=10_000_000, hot=True
    )
    MAX_WRITE_QUEUE_DEPTH: int = key(
        1000, "writes that may wait in the queue of a process", low=1, high=100_000, hot=True
    )
    MAX_GRAINS_PER_AGENT: int = key(1_000_000, "grains stored by one agent", low=1, high=10**10, hot=True)
    MAX_BYTES_PER_AGENT: int = key(
        1_073_741_824, "UTF-8 bytes of the grains stored by one agent", low=1, high=10**13, hot=True
    )
    MAX_GRAINS_PER_SPACE: int = key(5_000_000, "grains of a space", low=1, high=10**10, hot=True)
    MAX_BYTES_PER_SPACE: int = key(5_368_709_120, "UTF-8 bytes of the grains of a space", low=1, high=10**13, hot=True)
    MAX_GRAIN_BYTES: int = key(16_384, "UTF-8 bytes of one grain", low=1, high=4 * 1024 * 1024, hot=True)
    MAX_KV_VALUE_BYTES: int = key(
        262_144, "bytes of one value as canonical JSON", low=1, high=4 * 1024 * 1024, hot=True
    )
    MAX_KV_KEYS: int = key(100_000, "keys of one agent's memory, and of one board", low=1, high=100_000_000, hot=True)
    MAX_KV_BYTES: int = key(
        268_435_456,
        "bytes of values and their history in one agent's memory, and on one board",
        low=1,
        high=10**12,
        hot=True,
    )
    MAX_BOARDS_PER_AGENT: int = key(20, "boards one agent may create", low=0, high=100_000, hot=True)
    MAX_BOARDS_PER_SPACE: int = key(500, "boards of a space", low=1, high=100_000, hot=True)
    MAX_KV_WRITES_PER_MINUTE: int = key(
        6000, "keys, locks and tasks one agent may change in any 60 seconds", low=1, high=10_000_000, hot=True
    )
    KV_HISTORY_VERSIONS: int = key(10, "earlier versions kept for each key", low=0, high=1000, hot=True)
    KV_HISTORY_DAYS: float = key(30.0, "days an earlier version is kept at most", low=0, high=3650, hot=True)
    KV_EXPIRY_GRACE_HOURS: float = key(
        24.0, "hours after expiry until a value is deleted; it is hidden immediately", low=0, high=8760, hot=True
    )
    KV_TOMBSTONES: int = key(
        100_000, "deleted keys of a namespace whose last version is kept", low=0, high=100_000_000, hot=True
    )
    KV_WATCH_DAYS: float = key(7.0, "days a watch can go back", low=0.1, high=3650, hot=True)
    BLOBS_URL: str = key("", "address of blob storage (s3://...); empty: the data home")
    MAX_FILE_BYTES: int = key(67_108_864, "bytes of one file that is sent or stored", low=1, high=2**40, hot=True)
    MAX_STORES_PER_SPACE: int = key(10_000, "stores of a space", low=1, high=10_000_000, hot=True)
    MAX_STORE_BYTES_PER_SPACE: int = key(
        10_737_418_240,
        "bytes of files, their versions and messages in all stores of a space",
        low=1,
        high=10**15,
        hot=True,
    )
    MAX_STORE_FILES: int = key(100_000, "files of one store", low=1, high=10**9, hot=True)
    MAX_FILE_WRITES_PER_MINUTE: int = key(
        3000, "files and messages one agent may write in any 60 seconds", low=1, high=10_000_000, hot=True
    )
    STORE_UNDELETE_DAYS: float = key(
        30.0, "days a deleted store, or removed messages, can be restored", low=0, high=3650, hot=True
    )
    STORE_LOG_DAYS: float = key(
        90.0,
        "days the log of a store keeps refusals, no-ops and changes of the transcript",
        low=0,
        high=3650,
        hot=True,
    )
