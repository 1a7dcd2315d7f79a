"""Text analysis: words, names, dates, amounts, and what a question asks for."""
