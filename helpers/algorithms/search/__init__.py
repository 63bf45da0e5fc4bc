"""Lesson 16: many models at once, and which of them to go on with.

Read `halving` first: rungs, each with a share of the trials and more steps for them; and what it
costs that all wait for the slowest. `asha` promotes without waiting, and `promotions` counts what
that costs. `space` says what is searched, `validation` how the chosen one is judged.
"""
