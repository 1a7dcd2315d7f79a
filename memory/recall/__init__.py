"""Recall: ranked memories for a question, with a trace that explains them."""
