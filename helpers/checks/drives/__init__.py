"""The drivers that several lessons share; one that a single lesson uses lies with that lesson.

A driver calls a learner's function for a case and hands back an `Observation`. `calling` is where
to begin: an ordinary call, and what an exception becomes. `ranks` runs a function on every rank,
`arguments` sees which arguments were written into, `requests` which messages nobody waited for, and
`handed` has functions that an answer is given to call, which a grader computes itself.
"""
