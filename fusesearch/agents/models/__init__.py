"""Ways to get a completion, one file each; :mod:`fusesearch.agents.models.base` has their common types."""
