"""Artifacts and MLflow runs as the pages need them; what is missing is named, with the command that makes it."""
