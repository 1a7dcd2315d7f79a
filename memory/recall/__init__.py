"""Recall: from a question to ranked memories, with the trace that says why."""
