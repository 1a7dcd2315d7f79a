"""Grains on their way into a space from elsewhere, and out of it."""
