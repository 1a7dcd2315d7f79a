"""Finding candidates: postings with BM25, vectors, and the arrays they are kept in."""
