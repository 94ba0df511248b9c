"""The public functions, as `import fairflac` offers them: one for each command, without its parsing and printing.

Importing them imports no torch; a mistyped name is answered before that happens.
"""
