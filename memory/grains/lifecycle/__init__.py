"""Lifecycle of grains: decay, archive, quarantine, revival by use, deletion and purge."""
