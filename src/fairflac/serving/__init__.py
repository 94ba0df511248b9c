"""The runs of a folder in a browser on the same machine: a list, live curves, reports and comparisons. Reads only."""
