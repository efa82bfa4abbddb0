"""``python -m tests.trials.data_scale``: memory and time of filter and split at 100,000 generated pairs; writes RESULTS.md."""
