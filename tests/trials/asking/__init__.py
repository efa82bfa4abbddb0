"""Questions about installed packages, answered by ``ask`` without a model and by the running package."""
