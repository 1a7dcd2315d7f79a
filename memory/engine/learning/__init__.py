"""Effect of votes on ranking."""
