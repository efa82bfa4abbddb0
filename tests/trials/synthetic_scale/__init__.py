"""Thousands of synthetic instances: time, yield per mutation kind, hops, and issues to read."""
