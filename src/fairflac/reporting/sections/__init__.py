"""What the parts of a page say."""
