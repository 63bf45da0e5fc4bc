"""Sandboxes: where a submission's code runs, cut off from the machine, the network and others.

A sandbox is bubblewrap around one process, the zygote, that has the frameworks loaded and forks a
child for each submission. Where root grades, every sandbox is an ordinary user of its own.
"""

from helpers.grade.sandbox.command import SandboxError
from helpers.grade.sandbox.limits import FIRST_UID, Limits
from helpers.grade.sandbox.probe import missing
from helpers.grade.sandbox.sandbox import Child, Sandbox

__all__ = ["FIRST_UID", "Child", "Limits", "Sandbox", "SandboxError", "missing"]
