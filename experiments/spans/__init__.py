"""Functions of real repositories beside those of an independent reader."""
