"""The exercises of lesson 06, asynchronous updates."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ("servers.stale_cures", "servers.stale_descent")
# The modules of helpers.algorithms that its answers stand on, and that nobody has to write.
GIVES: tuple[str, ...] = ("servers.rule", "servers.cure")
