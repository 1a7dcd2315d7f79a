"""The memory gets better by being used: votes, what they do to paths and words, and how that is taken back."""
