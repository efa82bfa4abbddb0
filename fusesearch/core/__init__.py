"""Records, params, errors and artifacts; imports nothing else of the project."""
