"""Does a classifier that somebody has trained lean on a shortcut?"""
