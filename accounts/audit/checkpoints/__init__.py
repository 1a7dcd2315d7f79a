"""Checkpoints: where the audit chains stood, signed, kept beside the database and outside the data home.

A chain betrays every change but a cut end and an end written anew. A checkpoint knows how many entries a chain
had and the hash of the last one, so it betrays these too, to whoever has it: the worker makes one every
AUDIT_CHECKPOINT_MINUTES of the chains that have moved, in `checkpoints.jsonl` and, if FLUX_CHECKPOINTS names a
folder, in a file of the instance's name there. The home's log is the one that is written; the outside one follows.
An outside folder that fails is said aloud and holds up nothing.
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
