"""From candidates to an answer: features, scoring, order, confidence."""
