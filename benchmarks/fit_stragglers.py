"""Fit the straggler model to the published times: python -m benchmarks.fit_stragglers

The objective is the sum of squared errors, each in units of how well it should fit, over

- the mean time to the k-th of 100 gradients (1 %; 0.6 % from k = 91 to 99, which decide how many
  spare replicas are best);
- the share of steps in which the last gradient has arrived by then (0.015);
- the quantiles of the time to the 50th, 90th, 97th, 98th and 99th gradient (1.5 %);
- the share of 98th gradients within 2 s that the text prints (0.02).

The same random numbers serve every trial, so that the objective is smooth in the parameters; a
search along one parameter at a time, with shrinking steps, suffices for ten of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.order_statistics import sorted_steps
from helpers.lessons.spare_replicas.experiments.stragglers import FittedStragglers
from helpers.notebook.published import load

WORKERS, STEPS, SEED = 100, 30_000, 0
PARAMETERS = (
    "floor", "base", "scale", "shape", "spread", "late", "delay", "stuck",
    "slow_share", "slow_by", "slow_spread",
)  # fmt: skip
ROUGH = FittedStragglers(1.25, 0.2, 0.15, 2.2, 0.2, 0.013, 0.6, 1e-4, 0.45, 1.2, 0.2)


def objective(model: FittedStragglers, seed: int = SEED, steps: int = STEPS) -> float:
    """How far a model is from the published figures; see this file's head."""
    times = np.concatenate(list(sorted_steps(model, WORKERS, steps, seed)))
    errors: list[float] = []
    for k, seconds in load("chen2017_fig4_mean_t_k_of_100_s").data.items():
        unit = 0.006 if 91 <= int(k) <= 99 else 0.01
        errors.append((times[:, int(k) - 1].mean() / seconds - 1) / unit)
    for seconds, share in load("chen2017_fig3_cdf_k100").data.items():
        errors.append(((times[:, -1] <= float(seconds)).mean() - share) / 0.015)
    for k, quantiles in load("chen2017_fig3_quantiles_s").data.items():
        found = np.quantile(times[:, int(k[1:]) - 1], [float(q) for q in quantiles])
        errors.extend((found / np.array(list(quantiles.values())) - 1) / 0.015)
    errors.append(((times[:, 97] <= 2).mean() - 0.80) / 0.02)
    return float(np.square(errors).sum())


def fit(
    model: FittedStragglers = ROUGH, step: float = 0.1, smallest: float = 0.002
) -> FittedStragglers:
    """Change one parameter at a time by ± `step` of itself; halve the step where nothing helps."""
    best = objective(model)
    while step >= smallest:
        before = best
        for name in PARAMETERS:
            for factor in (1 + step, 1 / (1 + step)):
                trial = replace(model, **{name: getattr(model, name) * factor})
                value = objective(trial)
                if value < best:
                    model, best = trial, value
                    break
        if best > 0.995 * before:
            step /= 2
        print(f"objective {best:.1f}, next step {100 * step:.2g} %", flush=True)
    return model


def main() -> None:
    """Fit from a rough start; print the parameters beside those that the course uses."""
    used, found = FittedStragglers(), fit()
    for name in PARAMETERS:
        print(f"{name:12} {getattr(found, name):10.4g}   used {getattr(used, name):g}")
    for seed in range(1, 4):
        value, other = objective(found, seed), objective(used, seed)
        print(f"objective, other draws: {value:.1f}, used {other:.1f}")


if __name__ == "__main__":
    main()
