"""`helpers.run(engine="cluster")`: a job on machines that somebody else owns.

Read `run` first (what is asked for), then `files` and `slurm` (what is submitted), `folder` (what
the job and the notebook say to each other), `rank` (a rank's process on its node) and `follow`.
"""
