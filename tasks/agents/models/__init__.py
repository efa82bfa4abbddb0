"""Ways to get a completion, one per file."""
