"""Workers that are forked in milliseconds, do a job at a time, and may die at any moment.

Read `workers` first (who is asked, killed and told), then `nursery` (where they are forked) and
`line` (a socket to one that may be gone).
"""
