"""Drivers of functions that build a graph: built where the function is, looked at anywhere."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from helpers.checks.drives.calling import Function
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Observation


class Built:
    """A driver in two parts, of which only the first needs the learner's function.

    `build(fn, case)` gives an observation whose one value is what was built, in plain values: a
    graph's bytes, names in it, kinds of what was returned. `look(case, built)` needs nothing else:
    it runs the graph and gives the observation. Nothing in `built` but the graph may be believed
    without a look at the graph. told: how many of the case's arguments `build` is told; the others
    are only for what is done with the graph. The grader has `look` done by a process in which
    nothing of the learner's has ever run.
    """

    def __init__(
        self,
        build: Callable[[Function, Case], Observation],
        look: Callable[[Case, Any], Observation],
        told: int,
    ) -> None:
        self.build, self.arguments, self._look = build, told, look
        self.__module__ = build.__module__  # where this driver has its name

    def __call__(self, fn: Function, case: Case) -> Observation:
        seen = self.build(fn, self.told(case))
        return seen if seen.trouble else self.look(case, plain(seen.values[0]))

    def look(self, case: Case, built: Any) -> Observation:
        """What was built, looked at; an error as an observation, TensorFlow's long texts cut."""
        try:
            return self._look(case, built)
        except Exception as error:
            text = next(iter(str(error).splitlines()), "")[:300]
            return Observation(trouble="failed", kind=type(error).__name__, text=text)

    def told(self, case: Case) -> Case:
        """A case as `build` has it."""
        return replace(case, args=(case.args[0][: self.arguments],))
