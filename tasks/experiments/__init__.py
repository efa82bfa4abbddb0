"""Experiments: arms that differ in params, the runs that they share, and what comes out of them."""
