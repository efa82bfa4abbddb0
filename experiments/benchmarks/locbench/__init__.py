"""LocBench (Chen et al., 2025): which of its issues FuseSearch's Table 9 counts, and its list of functions beside our truth."""
