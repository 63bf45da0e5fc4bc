"""What a step of exercise 13.4 leaves as it should not: messages, weights, modes.

The gradients may be right all the same. Each question gives the hint, or None.
"""

from __future__ import annotations

from typing import Any

from helpers.exercises.compare import count, describe
from helpers.exercises.spec import Case, Mistake, Observation


def _steps(seen: Observation) -> list[tuple[int, dict[str, Any]]]:
    """Each rank's steps, with the rank; none where a run did not come to its end."""
    if seen.trouble:
        return []
    return [(rank, step) for rank, steps in enumerate(seen.values) for step in steps]


def moved(case: Case, seen: Observation) -> str | None:
    """Weights that the step has changed."""
    for rank, step in _steps(seen):
        if step["moved"]:
            return (
                f"{case.name}, rank {rank}'s weights are other ones after the step: `run_stage` "
                "leaves gradients in `.grad`, and whoever calls it does the update."
            )
    return None


def other_mode(case: Case, seen: Observation) -> str | None:
    """A module that ran, or was left, in another mode than it came in."""
    for rank, step in _steps(seen):
        if not step["same mode"]:
            came = "training" if step["training"] else "evaluation"
            return (
                f"{case.name}, rank {rank}'s module came in {came} mode, and the step turned it to "
                "the other: dropout is on or off in it, as whoever calls `run_stage` wants it. "
                "Leave the mode as it is."
            )
    return None


def cast(case: Case, seen: Observation) -> str | None:
    """Whole numbers that came to the first module as floats."""
    for rank, step in _steps(seen):
        if step["cast"]:
            return (
                f"{case.name}, rank {rank}'s module got floats where the inputs are whole numbers: "
                "an embedding looks tokens up by their numbers. Hand `inputs[i]` on as it is; only "
                "what was received asks for a gradient."
            )
    return None


def not_waited(case: Case, seen: Observation) -> str | None:
    """Messages that are still under way when the step is over, for all that the rank knows."""
    for rank, step in _steps(seen):
        if step["open"]:
            return (
                f"{case.name}, rank {rank} returned without waiting for "
                f"{count(step['open'], 'message')} of its own: the next step may begin while one "
                "is under way. Call `wait()` on each request after the last instruction."
            )
    return None


def said_elsewhere(case: Case, seen: Observation) -> str | None:
    """A rank without targets that returns something for a loss."""
    for rank, step in _steps(seen):
        if rank < case.ranks - 1 and step["loss"] is not None:
            return (
                f"{case.name}, rank {rank} returned {describe(step['loss'])}, and it knows no "
                "loss: only the last rank returns one, the others return None."
            )
    return None


def kept(case: Case, seen: Observation) -> str | None:
    """A microbatch of which something is still there after its backward."""
    for rank, step in _steps(seen):
        if step["kept"]:
            forwards = [i for kind, i in case.facts["told"][rank] if kind == "F"]
            return (
                f"{case.name}, rank {rank} still holds microbatch {forwards[step['kept'][0]]} when "
                "it has gone back through it and through others: so all of a step's activations "
                "add up. Take what a Backward needs out with `pop`, and let it free the graph."
            )
    return None


LEFT = (moved, other_mode, cast, not_waited, said_elsewhere, kept)

MISTAKES = (
    Mistake("weights changed", moved),
    Mistake("another mode", other_mode),
    Mistake("inputs made floats", cast),
    Mistake("messages not waited for", not_waited),
    Mistake("a loss on every rank", said_elsewhere),
    Mistake("activations kept", kept),
)
