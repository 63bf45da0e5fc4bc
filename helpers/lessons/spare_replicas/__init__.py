"""The exercises of lesson 07, spare replicas."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = (
    "servers.update_rules",
    "servers.accumulators",
    "servers.sync_replicas",
    "servers.what_if",
)
# The modules of helpers.algorithms that its answers stand on, and that nobody has to write.
GIVES: tuple[str, ...] = ("servers.rule",)
