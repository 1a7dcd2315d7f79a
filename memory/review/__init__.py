"""The review queue: what waits for a person to accept or deny. Other rooms register the kinds of items."""
