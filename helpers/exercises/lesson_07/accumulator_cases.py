"""The cases of exercise 07.4: moves that an accumulator is given, and what each should give."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count
from helpers.exercises.spec import Case

Move = tuple[Any, ...]


def cases(seed: int) -> list[Case]:
    """Seed 0: 2 required, move by move, then 1, 3 and 5 at random; else all at random."""
    random = rng(seed, "07.4")
    made = []
    if not seed:
        g = [np.round(random.uniform(1, 9, 3), 2) for _ in range(8)]
        made.append(
            _case(
                2,
                [
                    ("push", g[0], 0),
                    ("take", 2),
                    ("push", g[1], 0),
                    ("take", 2),
                    ("push", g[2], 1),
                    ("push", g[3], 0),
                    ("push", g[4], 1),
                    ("push", g[5], 2),
                    ("take", 2),
                    ("push", g[6], 1),
                    ("push", g[7], 2),
                    ("take", 2),
                ],
            )
        )
    for required in (1, 3, 5) if not seed else (2, 1, 3, 5, 4):
        made.append(_case(required, _moves(random, required, 12 + 6 * required)))
    return made


def _moves(random: np.random.Generator, required: int, length: int) -> list[Move]:
    """Moves at random: some gradients come late, some are ahead, some takes too early."""
    moves: list[Move] = []
    step = held = 0
    while len(moves) < length:
        if (held >= required and random.random() < 0.6) or random.random() < 0.15:
            moves.append(("take", required))
            if held >= required:
                step, held = step + 1, 0
            continue
        local = max(step + int(random.choice([-1, 0, 0, 0, 1])), 0)
        moves.append(("push", np.round(random.uniform(1, 9, 3), 2), local))
        held += local >= step
    return moves


def _case(required: int, moves: list[Move]) -> Case:
    """A case with, for each move, what is wanted and what some mistakes would give."""
    held, everything = list[np.ndarray](), list[np.ndarray]()
    step, stale, facts = 0, 0, list[dict[str, Any]]()
    for kind, *rest in moves:
        fact: dict[str, Any] = {"kind": kind, "held": len(held), "before": step}
        if kind == "push":
            fact |= {"local": rest[1], "want": rest[1] >= step}
            stale += not fact["want"]
            if fact["want"]:
                held.append(rest[0])
                everything.append(rest[0])
        elif len(held) < required:
            fact["want"] = None
        else:
            total = sum(held)
            fact |= {
                "want": total / len(held),
                "by required": total / required,
                "sum": total,
                "first": sum(held[:required]) / required,
                "never emptied": sum(everything) / len(everything),
                "sum kept": sum(everything) / len(held),
                "count kept": total / len(everything),
                "stale counted": total / (len(held) + stale),
            }
            held, step, stale = [], step + 1, 0
        facts.append({**fact, "step": step})
    name = f"With {count(required, 'gradient')} required"
    return Case(name, ((moves,),), facts={"moves": facts, "required": required})
