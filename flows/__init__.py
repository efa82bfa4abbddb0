"""Prefect flows, one per stage. No logic lives here: a flow names tasks, retries and artifacts."""
