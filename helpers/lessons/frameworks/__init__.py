"""The exercises of lesson 04, the frameworks."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ("devices.framework_steps",)
