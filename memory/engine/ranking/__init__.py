"""Ranking: candidates, features, scoring, order and confidence of an answer."""
