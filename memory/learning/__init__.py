"""Learning from feedback: votes, their effect on links and ranker weights, and undoing it."""
