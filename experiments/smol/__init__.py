"""The base checkpoints of the profiles ``smol`` and ``coder-0.5b``."""
