"""The cases of exercise 04.2: what each rank brings, and where the ranks should come to."""

from __future__ import annotations

from helpers.exercises.common import rng
from helpers.exercises.compare import count
from helpers.exercises.lesson_04 import replicas
from helpers.exercises.spec import Case

LAYERS = (4, 8, 2)


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 ranks with 4 rows each; else other rows, rates and steps."""
    random, made = rng(seed, "04.2"), []
    for n in (3, 1, 2, 5):
        rows = int(random.integers(2, 7)) if seed else 4
        steps = int(random.integers(3, 5)) if seed else 3
        rate = replicas.as_float32(random.uniform(0.05, 0.2) if seed else 0.1)
        momentum = replicas.as_float32(random.uniform(0.5, 0.9) if seed else 0.5)
        starts = [replicas.random_weights(random, LAYERS) for _ in range(n)]
        momenta = [[0.1 * w for w in replicas.random_weights(random, LAYERS)] for _ in range(n)]
        frozen = [replicas.random_weights(random, (LAYERS[0],) * 2)[0] for _ in range(n)]
        inputs = random.standard_normal((n, steps, rows, LAYERS[0]))
        targets = random.standard_normal((n, steps, rows, LAYERS[-1]))
        args = tuple(
            (starts[r], momenta[r], frozen[r], rate, momentum, inputs[r], targets[r])
            for r in range(n)
        )
        # What the trained layers get, where all ranks have rank 0's frozen layer.
        batches = [
            [(inputs[r, s] @ frozen[0], targets[r, s]) for r in range(n)] for s in range(steps)
        ]
        apart = [(inputs[r, 0] @ frozen[r], targets[r, 0]) for r in range(n)]
        ends = replicas.alone(starts[0], replicas.together(batches), rate, momentum, momenta[0])
        before = [starts[0], *(weights for weights, _ in ends)]
        facts = {
            "starts": starts,
            "momenta": momenta,
            "rate": rate,
            "momentum": momentum,
            "ends": [list(end) for end in ends],
            "losses": [
                # At last the first batch once more: its loss shows where the last step has led.
                [
                    replicas.loss_and_gradients(w, batches[s % steps][r])[0]
                    for s, w in enumerate(before)
                ]
                for r in range(n)
            ],
            # of the first step: gradients at rank 0's variables, and at each rank's own
            "local": [replicas.gradients(starts[0], rows) for rows in batches[0]],
            "exchanged": [replicas.gradients(starts[0], rows, True) for rows in batches[0]],
            "own": [replicas.gradients(starts[r], apart[r]) for r in range(n)],
            "frozen": frozen,
            "steps": steps,
            "calls": steps + 1,
            "tensors": replicas.nbytes(starts[0]),
        }
        made.append(Case(f"On {count(n, 'rank')}", args, n, facts=facts))
    return made
