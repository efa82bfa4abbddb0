"""Tries of what operators rely on: a fan-out over two machines of a Ray cluster, a Prefect server that is killed on the way."""
