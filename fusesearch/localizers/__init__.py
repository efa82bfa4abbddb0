"""Systems that map an instance to a ranked answer, one per file."""
