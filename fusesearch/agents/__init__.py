"""The one multi-turn parallel loop, its prompts and parsing, and the models that drive it."""
