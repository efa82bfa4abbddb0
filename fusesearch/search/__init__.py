"""The agent's whole world: a confined read-only repository, three tools, and what each call added."""
