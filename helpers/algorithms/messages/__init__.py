"""Lesson 02: sums over ranks, built from messages, and what a message costs.

Read `collectives` first; `cost_model` says how long each takes, `maximum` and `mesh` come later:
the largest of all ranks' numbers, and some of the ranks as a world of their own.
"""
