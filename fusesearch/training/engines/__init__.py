"""The environment in the trainers of others: veRL and verifiers."""
