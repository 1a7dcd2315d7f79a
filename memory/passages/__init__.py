"""Passages of files and messages of transcripts as grains, so that one recall finds them beside memories."""
