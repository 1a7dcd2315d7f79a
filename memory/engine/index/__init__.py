"""Search index of a space: postings with BM25, vectors, and their arrays."""
