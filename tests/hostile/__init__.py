"""Hostile submissions, by subject, and what the grader has to say to each of them."""
