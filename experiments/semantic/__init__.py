"""What similarities of a sentence encoder are worth to the ranker."""
