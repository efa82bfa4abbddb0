"""Rollouts of one prompt as a tree (RepoSearch-R1 section 3.1): tree (the pure parts), growing (the driver on the one loop)."""
