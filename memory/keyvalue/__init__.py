"""Memory that is exact: an agent's own key-value namespace, boards that agents share, locks, queues and watching."""
