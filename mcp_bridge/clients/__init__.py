"""The programs agents live in: which there are, and how each is told about this memory."""
