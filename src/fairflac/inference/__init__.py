"""Open any trained classifier, and ask it about files."""
