"""Drivers for lesson 06: rules and cures whose workers may come to a standstill."""

from __future__ import annotations

from helpers.exercises.drives import Function
from helpers.exercises.drives_rules import cure_turns, rule_turns
from helpers.exercises.spec import Case, Observation


def rule_to_the_end(fn: Function, case: Case) -> Observation:
    """As `rule_turns`; where everybody waits for ever, the turns up to there and `{"stuck"}`."""
    return _to_the_end(rule_turns(fn, case))


def cure_to_the_end(fn: Function, case: Case) -> Observation:
    """As `cure_turns`, likewise."""
    return _to_the_end(cure_turns(fn, case))


def _to_the_end(seen: Observation) -> Observation:
    # A standstill is what the answer did, and not how its process ended: it goes into the values.
    if seen.trouble != "deadlock":
        return seen
    return Observation(values=[[*seen.values[0], {"stuck": len(seen.waiting)}]])
