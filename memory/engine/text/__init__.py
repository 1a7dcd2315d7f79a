"""Reading a text: words, names, dates, amounts, and what a question asks for."""
