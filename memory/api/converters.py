"""Converters of the REST addresses."""

from __future__ import annotations

from django.urls import register_converter
from django.urls.converters import StringConverter


class TextConverter(StringConverter):
    """Any text, slashes and line breaks too: Django's `path` ends at a line break, and the address would be unknown.

    Whether there may be such a file or key is decided by the verb, which says what is wrong with it.
    """

    regex = r"[\s\S]+"


TEXT = "text"
register_converter(TextConverter, TEXT)
