"""Exact memory: keys and values of agents, boards that agents share, locks, task queues and watching."""
