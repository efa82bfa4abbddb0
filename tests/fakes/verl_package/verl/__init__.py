"""Stands in for veRL 0.9.1 where it is not installed: the same commands, options and files as the real package wrote on a CPU."""
