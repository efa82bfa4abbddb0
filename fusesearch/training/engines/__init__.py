"""The environment in the trainer of others: veRL."""
