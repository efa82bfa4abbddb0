"""Turn budgets and enforced calls, over checkpoints that exist (FuseSearch, figure 1)."""
