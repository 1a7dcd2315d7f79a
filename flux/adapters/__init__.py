"""Adapters: stores, transcripts and keys of this server in the interfaces of other frameworks.

Each module is one framework's, and imports its package. The packages are not installed with this project.
"""

from __future__ import annotations


def needs(package: str, error: ImportError) -> ImportError:
    """The error of an adapter whose framework cannot be imported."""
    return ImportError(f"This adapter needs the package {package} ({error}). Install it: pip install {package}")
