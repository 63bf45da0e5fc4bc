"""The exercises of lesson 08, four ways in TensorFlow."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ("devices.four_ways",)
