"""The lessons, a room each, named by its subject: algorithms, exercises, experiments, figures.

`helpers.rooms` says what a room is.
"""
