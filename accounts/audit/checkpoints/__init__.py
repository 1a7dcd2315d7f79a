"""Checkpoints: signed lengths and hashes of the audit chains, stored beside the database and outside the data home.

A chain alone shows every change except a cut or rewritten end. A checkpoint has the number of entries of a chain and
the hash of the last one, so that it shows these too. The worker makes one every AUDIT_CHECKPOINT_MINUTES of the chains
that have new entries, in `checkpoints.jsonl` of the data home and, if FLUX_CHECKPOINTS names a folder, in a file named
after the instance there. The log in the data home is written first and then copied. If the outside folder fails, that
is logged and does not block anything.
"""

from accounts.audit.checkpoints.rotation import hand_over, rotate_key, start_over
from accounts.audit.checkpoints.schedule import checkpoint_if_due
from accounts.audit.checkpoints.verify import (
    ChainStatus,
    CheckedLog,
    VerificationReport,
    chain_statuses,
    checkpoint_warnings,
    known_chains,
    verify_chains,
)
from accounts.audit.checkpoints.writer import NewCheckpoint, make_checkpoint, try_checkpoint

__all__ = [
    "ChainStatus",
    "CheckedLog",
    "NewCheckpoint",
    "VerificationReport",
    "chain_statuses",
    "checkpoint_if_due",
    "checkpoint_warnings",
    "hand_over",
    "known_chains",
    "make_checkpoint",
    "rotate_key",
    "start_over",
    "try_checkpoint",
    "verify_chains",
]
