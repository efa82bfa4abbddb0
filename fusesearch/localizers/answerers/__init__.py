"""Answerers of questions, beside models with tools."""
