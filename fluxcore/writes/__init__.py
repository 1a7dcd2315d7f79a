"""Writes: the write booth, which shares commits, and locks, idempotency keys, preconditions and limits of writes."""
