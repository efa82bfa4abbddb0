"""Programs that measure; run by hand."""
