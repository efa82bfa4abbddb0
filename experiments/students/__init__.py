"""Small students on real fixes, beside the ranker whose list they start from."""
