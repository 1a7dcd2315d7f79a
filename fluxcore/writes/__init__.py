"""Writing: the booth that shares commits, and what every write passes on its way: locks, keys, expectations, limits."""
