"""Metrics, protocols, statistics and tables: one implementation for every stage."""
