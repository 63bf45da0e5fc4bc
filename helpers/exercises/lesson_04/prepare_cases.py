"""The cases of exercise 04.1: what each rank brings, and where the ranks should come to."""

from __future__ import annotations

from helpers.exercises.common import rng
from helpers.exercises.compare import count
from helpers.exercises.lesson_04 import replicas
from helpers.exercises.spec import Case

LAYERS = (6, 16, 3)


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 ranks with 4 rows each; else other rows, rates and steps."""
    random, made = rng(seed, "04.1"), []
    for n in (3, 1, 2, 5):
        rows = int(random.integers(2, 7)) if seed else 4
        steps = int(random.integers(4, 7)) if seed else 4
        rate = float(random.uniform(0.05, 0.2)) if seed else 0.1
        momentum = 0.5 if seed % 2 else 0.9
        starts = [replicas.random_weights(random, LAYERS) for _ in range(n)]
        rates = [rate * (1 + 0.37 * r) for r in range(n)]
        inputs = random.standard_normal((n, steps, rows, LAYERS[0]))
        targets = random.standard_normal((n, steps, rows, LAYERS[-1]))
        args = tuple((starts[r], rates[r], momentum, inputs[r], targets[r]) for r in range(n))
        batches = [[(inputs[r, s], targets[r, s]) for r in range(n)] for s in range(steps)]
        ends = replicas.alone(starts[0], replicas.together(batches), rate, momentum)
        facts = {
            "starts": starts,
            "rates": rates,
            "ends": [weights for weights, _ in ends],
            "local": [replicas.gradients(starts[0], rows) for rows in batches[0]],
            "momentum": momentum,
            "steps": steps,
            "tensors": replicas.nbytes(starts[0]),
        }
        made.append(Case(f"On {count(n, 'rank')}", args, n, facts=facts))
    return made
