"""A SLURM of two nodes on the learner's own machine, in a folder of its own."""
