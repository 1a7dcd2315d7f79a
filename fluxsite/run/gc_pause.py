"""While a process loads its code it makes nothing but what stays: looking for rubbish would be a tenth of a start."""

from __future__ import annotations

import gc

from django.apps import apps


def pause_gc() -> None:
    if not apps.ready:  # or nobody would say that it has ended
        gc.disable()


def pause_gc_again() -> None:
    """After Django is there: for what a process loads once more before its first answer."""
    gc.disable()


def freeze_and_resume_gc() -> None:
    """What is there by now is never looked through again."""
    gc.freeze()
    gc.enable()
