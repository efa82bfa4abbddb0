"""SweRank's retriever with an untrained encoder, beside the ranker and BM25 on the same issues."""
