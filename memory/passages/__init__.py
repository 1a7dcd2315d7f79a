"""Passages of files, messages of transcripts and values of keys as grains, which one recall finds beside memories."""
