"""The lexical localizer, and what it reads in an issue (:mod:`.clues`), which the ranker reads too."""
