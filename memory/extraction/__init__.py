"""Extraction: a local model extracts single statements from texts that are stored unchanged (mode flux_extracts)."""
