"""Kinds of grains: memories, and those made from files, transcripts and keys. Imports nothing, so every server may."""

MEMORY = "memory"
MADE_KINDS = ("passage", "message", "value")
KINDS = (MEMORY, *MADE_KINDS)
