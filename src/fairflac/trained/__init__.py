"""Classifiers that someone has trained, from whatever they were kept in."""
