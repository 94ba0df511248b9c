"""A trained model as a file for other programs, with a card that says what it is."""
