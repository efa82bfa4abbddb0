"""The lexicon that the ranker ships with: where its weights come from, and what it is worth."""
