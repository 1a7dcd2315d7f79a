"""Checkpoints: where the audit chains stood, signed, kept beside the database and outside the data home.

A chain betrays every change but a cut end and an end written anew. A checkpoint knows how many entries a chain
had and the hash of the last one, so it betrays these too, to whoever has it: the worker makes one every
AUDIT_CHECKPOINT_MINUTES of the chains that have moved, in `checkpoints.jsonl` and, if FLUX_CHECKPOINTS names a
folder, in a file of the instance's name there. The home's log is the one that is written; the outside one follows.
An outside folder that fails is said aloud and holds up nothing.
"""

from accounts.checkpoints.book import Made, make, make_or_say
from accounts.checkpoints.changes import begin_anew, hand_over, rotate_key
from accounts.checkpoints.proof import Place, Report, Standing, known_chains, status, verdicts, warnings
from accounts.checkpoints.schedule import when_due

__all__ = [
    "Made", "Place", "Report", "Standing", "begin_anew", "hand_over", "known_chains", "make", "make_or_say",
    "rotate_key", "status", "verdicts", "warnings", "when_due",
]  # fmt: skip
