"""Where files come from: downloads, archives, and what users fetch by hand."""
