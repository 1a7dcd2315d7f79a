"""What votes change in the order of results."""
