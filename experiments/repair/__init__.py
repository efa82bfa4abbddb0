"""Downstream: what a repairer without a model gains from localizers, beside ToolTrain's table 3 and FuseSearch's table 6."""
