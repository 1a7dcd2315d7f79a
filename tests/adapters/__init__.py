"""Comparison of the adapters with the frameworks' own stores. `make adapters` runs it where the frameworks are."""
