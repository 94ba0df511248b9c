"""A user's own images: folders, CSV files, and how they are split."""
