"""What more actors bring: steps a second, steps until a score is reached, and both together.

    seconds to a score = steps to the score / steps a second

The second factor is compute: it follows from cores, and from what is done one after the other. The
first is data efficiency: with more actors, a gradient is older and others have come between. The
paper's table gives seconds to a score, so a speedup there holds both.
"""

from __future__ import annotations

from collections.abc import Sequence

from helpers.lessons.actors.experiments.actor_settings import Setting
from helpers.lessons.actors.experiments.shared_actors import Look
from helpers.notebook.published import load

PAPER = "a3c_table2_speedup_by_threads"


def modelled(actors: int, cores: int, locked_share: float = 0.0) -> float:
    """Steps a second over those of one actor.

    No more actors work at once than there are cores. locked_share: of one actor's time, what only
    one may do at a time; whoever finds it taken waits, and the queue is worked out one actor after
    the other (mean value analysis). With many cores it tends to 1 / locked_share. Source: Reiser
    and Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks" (1980).
    """
    rate, waiting = 0.0, 0.0
    for busy in range(1, min(actors, cores) + 1):
        served = locked_share * (1 + waiting)
        rate = busy / (1 - locked_share + served)
        waiting = rate * served
    return rate


def steps_to_score(
    looks: Sequence[Look], setting: Setting, goal: float | None = None, games: int | None = None
) -> int | None:
    """The steps at the first look whose weights reach the goal; None if none does.

    goal: the setting's own where none is given. games: that a look's weights play.
    """
    goal = setting.goal if goal is None else goal
    return next((each.steps for each in looks if setting.score(each.weights, games) >= goal), None)


def paper() -> dict[int, float]:
    """Mnih et al. (2016), table 2: A3C's speedup by the number of threads."""
    data = load(PAPER).data
    return dict(zip(data["threads"], data["A3C"], strict=True))
