"""Memory and time of filter and split at 100,000 generated pairs: ``make bench-data`` writes ``RESULTS.md`` beside this file."""
