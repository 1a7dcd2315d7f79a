"""flux_files: stores of files: create, list and delete them, and read and change their files."""

from __future__ import annotations

from memory.management.calls import CallCommand


class Command(CallCommand):
    help = "Stores of files with versions: create, list, read, write, history, and more."
    group = "files"
