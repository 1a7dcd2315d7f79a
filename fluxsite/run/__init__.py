"""Processes of a running instance: supervisor, state file, limits of connections and bodies."""
