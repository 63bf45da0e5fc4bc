"""What specs share: world sizes, seeded random numbers, questions that many of them ask."""

from itertools import pairwise
from typing import Any

import numpy as np

from helpers.checks.compare import close
from helpers.checks.spec import Case, Look, Mistake, Observation

# The most telling size first: a hint is given for the first case that is wrong.
WORLDS = (3, 1, 2, 5)


def random_weights(random: np.random.Generator, sizes: tuple[int, ...]) -> list[np.ndarray]:
    """[W₁, b₁, W₂, b₂, …] of a network with these layer sizes, float64."""
    made: list[np.ndarray] = []
    for before, after in pairwise(sizes):
        made.append(random.standard_normal((after, before)) / before**0.5)
        made.append(random.standard_normal(after))
    return made


def sends_to_itself(case: Case, seen: Observation) -> int | None:
    """A rank that sends to itself or waits for a message from itself, where there is one."""
    if seen.trouble == "failed" and seen.rank is not None and "which is itself" in seen.text:
        return seen.rank
    for rank, words in seen.waiting.items():
        if words.rstrip(".").endswith(f"rank {rank}") and "returned" not in words:
            return rank
    return next((rank for rank, others in enumerate(seen.sent) if rank in others), None)


def self_hint(case: Case, seen: Observation) -> str | None:
    """The hint for a rank that sends to itself, or waits for what it never sent."""
    rank = sends_to_itself(case, seen)
    if rank is None:
        return None
    if "receive" in seen.waiting.get(rank, "") and all(
        r not in to for r, to in enumerate(seen.sent)
    ):
        return (
            f"Rank {rank} waits for a message from rank {rank}, which nobody sends. It has its own "
            "part already: receive from the others alone."
        )
    return (
        f"Rank {rank} waits for a message from rank {rank}, which nobody will receive. "
        "Keep your own part without sending it."
    )


def fails_with(piece: str, hint: str, kind: str = "", ours: bool = False) -> Look:
    """What recognises an exception by a piece of its text; the rest of that differs by answer.

    kind: its type, where that matters. ours: only where the learner's own code did not raise it.
    """

    def look(case: Case, seen: Observation) -> str | None:
        found = seen.trouble == "failed" and piece in seen.text and kind in ("", seen.kind)
        return f"{case.name}, {hint}" if found and not (ours and seen.place) else None

    return look


def after(seen: Observation) -> list[Any]:
    """The ranks' tensors after a function that changes them in place."""
    return [v["after"] for v in seen.values]


def compared_in_place(case: Case, seen: Observation) -> Any:
    """The tensors afterwards, and what was returned in their place."""
    return [
        (v["after"], None if close(v["returned"], v["after"], 0.0) else v["returned"])
        for v in seen.values
    ]


def raised(name: str, piece: str, hint: str, ours: bool = False) -> Mistake:
    """The family of exceptions that hold a piece, as `fails_with` sees them.

    hint: may name the {rank} that raised, and the exception's {text}.
    """

    def look(case: Case, seen: Observation) -> Any:
        said = hint.format(rank=seen.rank, text=seen.text)
        return fails_with(piece, said, ours=ours)(case, seen)

    return Mistake(name, look, unfinished=True)
