"""`helpers.run(engine="cluster")`: a job on machines that somebody else owns.

Read `run` first (what is asked for), then `files` and `jobs` (what is submitted, and by whom),
`folder` (what job and notebook say to each other), `rank` (a rank on its node) and `follow`.
"""
