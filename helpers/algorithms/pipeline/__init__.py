"""Lesson 13: stages that work at once on microbatches.

Read `instructions` and `schedules` first: what each stage does, in which order. `timetable` plays a
schedule without ranks, `pipeline` runs it with them, and `recompute` pays for memory with time.
"""
