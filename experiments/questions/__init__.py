"""Open questions as benchmarks: those that others released, and the choice of those to use."""
