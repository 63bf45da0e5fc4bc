"""The exercises of lesson 10, fewer bits or less often."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = (
    "compression.feedback",
    "compression.loss_scale",
    "compression.pays",
    "compression.power_sgd",
    "compression.two_way",
    "servers.diloco",
)
# The modules of helpers.algorithms that its answers stand on, and that nobody has to write.
GIVES: tuple[str, ...] = ("servers.rule",)
