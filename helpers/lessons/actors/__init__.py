"""The exercises of lesson 15, actors and learners."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ("actors.losses", "actors.returns", "actors.v_trace")
# The modules of helpers.algorithms that its answers stand on, and that nobody has to write.
GIVES: tuple[str, ...] = ("actors.rms_prop", "actors.staleness")
