"""Answerers of questions, beside models with tools: the floor (closed-book, prior, grep-once) and the scripted teacher."""
