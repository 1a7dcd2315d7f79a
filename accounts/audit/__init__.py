"""The audit: hash chains of who did what (`chain`), and signed checkpoints that prove them (`checkpoints`)."""

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
