"""The exercises of lesson NN, my subject."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ()
# The modules of helpers.algorithms that its answers stand on, and that nobody has to write.
GIVES: tuple[str, ...] = ("servers.rule", "servers.cure")
