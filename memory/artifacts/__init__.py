"""Stores of files with versions and a transcript of messages."""
