"""Lesson 17: what failures cost a job of many GPUs, and how often to save against them.

Read `interval` first: failures add up over GPUs, and the best interval between two checkpoints
follows from how long a save takes and how often the job fails. `effective` is what is then left of
the time, where everybody restarts. `quorum` is what is left where only the group with the failed
GPU does.
"""
