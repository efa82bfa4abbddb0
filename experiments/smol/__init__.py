"""The base checkpoint of the profile ``smol``."""
