"""Lesson 18: five ways to train the same network, timed to a target in three settings."""
