"""``ranker``: words, names and history of a snapshot against an issue, ranked by trees, without a model."""
