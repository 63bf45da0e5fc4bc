"""The exercises of lesson 16, search and ensembles."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ("search.halving", "search.asha", "search.space", "search.validation")
# What answers one of its exercises though no spec names it, as (module, name).
ANSWERS: tuple[tuple[str, str], ...] = (("search.halving", "best"),)
# The modules of helpers.algorithms that its answers stand on, and that nobody has to write.
GIVES: tuple[str, ...] = ("search.ranges", "search.rungs")
