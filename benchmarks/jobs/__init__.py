"""The job that every launcher is given: four ranks, one all-reduce of one number."""
