"""Bias models: what they see, how good they are, and guesses where nobody has labelled anything."""
