"""What runs an algorithm: a virtual clock, local processes, or a job that is already running."""
