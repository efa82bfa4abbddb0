"""Where raw pairs come from, one per file."""
