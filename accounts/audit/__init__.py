"""Audit log: hash chains of entries (`chain`), and signed checkpoints of them (`checkpoints`)."""

from accounts.audit.chain import (
    GENESIS,
    ChainHead,
    ChainVerdict,
    chains,
    export,
    hash_of,
    heads,
    readable,
    record,
    refuse,
    tail,
    verify,
    write,
)

__all__ = [
    "GENESIS",
    "ChainHead",
    "ChainVerdict",
    "chains",
    "export",
    "hash_of",
    "heads",
    "readable",
    "record",
    "refuse",
    "tail",
    "verify",
    "write",
]
