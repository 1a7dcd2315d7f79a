"""Pause of the garbage collector while a process imports its code: it frees nothing then and takes 10% of a start."""

from __future__ import annotations

import gc

from django.apps import apps


def pause_gc() -> None:
    """Pause collection before Django is set up."""
    if not apps.ready:  # once apps are ready nothing would call freeze_and_resume_gc
        gc.disable()


def pause_gc_again() -> None:
    """Pause collection after Django is set up, for further imports before the first answer."""
    gc.disable()


def freeze_and_resume_gc() -> None:
    """Resume collection; objects that exist now are never examined again."""
    gc.freeze()
    gc.enable()
