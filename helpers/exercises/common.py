"""What specs share: world sizes, seeded random numbers, questions that many of them ask."""

from __future__ import annotations

import numpy as np

from helpers.exercises.spec import Case, Observation

# The most telling size first: a hint is given for the first case that is wrong.
WORLDS = (3, 1, 2, 5)


def rng(seed: int, number: str) -> np.random.Generator:
    """Random numbers for one exercise's cases, the same on every machine."""
    return np.random.default_rng([seed, *map(int, number.split("."))])


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
