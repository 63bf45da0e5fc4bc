"""Lesson 17: how a process on a cluster finds out who it is.

Each launcher starts the same script many times, and tells each copy its rank in a few variables of
its environment. `launchers` says which ones, and `environment` which launcher to believe where one
was started inside another.
"""
