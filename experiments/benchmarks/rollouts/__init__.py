"""Rollouts through the real vLLM beside those of transformers, at nano's size."""
