"""The exercises of lesson 05, parameter servers."""

# The modules of helpers.algorithms that hold what this lesson builds, and those that it gives.
BUILDS: tuple[str, ...] = ("servers.clients", "servers.placement", "servers.server_optimizers")
GIVES: tuple[str, ...] = ("servers.rule",)
