"""Lesson 18: which way to train is quickest, and is it better? Timed, searched and compared fairly.

One noun a file: a run and its clock, the search of a learning rate, a paired comparison, and the
sentences that a report makes of them.
"""
