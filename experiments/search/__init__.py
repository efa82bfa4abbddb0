"""NDCG@10 of a search on semble's questions (RESULTS.md)."""
