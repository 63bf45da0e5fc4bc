"""The exercises of lesson 01, devices."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ("devices.device_memory", "devices.placement", "devices.device_graphs")
