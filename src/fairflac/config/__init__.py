"""Everything that decides the result of a run: options, settings, recipes and the config they make."""
