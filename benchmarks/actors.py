"""A3C on the cores of one machine: what it learns, how quickly, and what more actors bring.

Scores are of the likeliest actions, in games that nobody trained on. The paper's speedups are times
to a score on many cores; here steps a second are measured on the cores there are, and steps to a
score on the virtual clock, where any number of actors runs.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

from benchmarks.gymnasium_peer import Peer
from benchmarks.report import Report
from helpers.lessons.actors.algorithms.staleness import mean_staleness
from helpers.lessons.actors.experiments import actor_speedup, stale_actors
from helpers.lessons.actors.experiments.actor_settings import CART_POLE, TIC_TAC_TOE, Setting
from helpers.lessons.actors.experiments.games import one_thread
from helpers.lessons.actors.experiments.shared_actors import Pace, train_shared
from helpers.setup.machine import usable_cores

SEEDS = tuple(range(5))
CLOCK_SEEDS = SEEDS[:3]
ACTORS = 2
SECONDS = 120.0
PEER_UPDATES = 150
RATE_UPDATES, THREAD_UPDATES, ROUNDS = 300, 24, 3
ON_CLOCK, LOOK = (1, 4, 16), 50
STALE_ACTORS, STALE_ROLLOUTS = 16, 1500


def measure() -> Report:
    """All of it."""
    report = Report("actors", "Actors and learners: scores, steps a second, staleness")
    for setting, locked in ((TIC_TAC_TOE, False), (TIC_TAC_TOE, True), (CART_POLE, False)):
        measure_learning(report, setting, locked)
    measure_peer(report)
    measure_rates(report)
    measure_threads(report)
    measure_data(report)
    measure_staleness(report)
    return report


def measure_learning(report: Report, setting: Setting, locked: bool) -> None:
    """Train two real actors from each seed, and score what they learned."""
    found = [train_shared(setting, ACTORS, locked=locked, seed=seed) for seed in SEEDS]
    scores = [setting.score(each.weights) for each in found]
    lost = sum(each.lost for each in found)
    name = "under a lock" if locked else "lock-free"
    seconds = [each.seconds for each in found]
    middle, worst = statistics.median(scores), min(scores)
    report.add(
        f"{setting.name}, {ACTORS} actors, {found[0].steps} steps", name, seconds,
        f"median {middle:.1f}, worst seed {worst:.1f} {setting.unit}; {lost} counts lost",
    )  # fmt: skip
    text = f"{setting.name}, {name}"
    report.claim(f"{text}: median of {len(SEEDS)} seeds", middle, setting.goal, unit="")
    report.claim(f"{text}: worst seed", worst, setting.goal, unit="")
    report.claim(f"{text}: slowest seed", max(seconds), SECONDS, False, " s")


def measure_peer(report: Report) -> None:
    """CartPole beside the same updates on gymnasium's plain loop, in turn."""
    short = CART_POLE._replace(updates=PEER_UPDATES)
    contenders: dict[str, Callable[[int], float]] = {
        "gymnasium, one by one": lambda seed: Peer(short, seed).learn(PEER_UPDATES),
        "gymnasium, all at once": lambda seed: Peer(short, seed, True).learn(PEER_UPDATES),
        "ours, 1 actor": lambda seed: train_shared(short, 1, seed=seed).seconds,
        f"ours, {ACTORS} actors": lambda seed: train_shared(short, ACTORS, seed=seed).seconds,
    }
    found: dict[str, list[float]] = {name: [] for name in contenders}
    with one_thread():
        for seed in range(ROUNDS):
            for name, learn in contenders.items():
                found[name].append(learn(seed))
    medians = {name: statistics.median(seconds) for name, seconds in found.items()}
    beside = min(seconds for name, seconds in medians.items() if name.startswith("gymnasium"))
    case = f"CartPole, {PEER_UPDATES} updates of {short.steps_per_update} steps"
    for name, seconds in found.items():
        report.add(case, name, seconds, f"{beside / medians[name]:.2f}× the quicker of gymnasium's")
        if name.startswith("ours"):
            text = f"CartPole, {name}: quicker than the quicker of gymnasium's loops"
            report.claim(text, beside / medians[name], 1.0)


def measure_rates(report: Report) -> None:
    """Steps a second by number of actors, beside the model and the paper's table."""
    cores, paper = round(usable_cores()), actor_speedup.paper()
    counts = tuple(sorted({1, 2, 4, cores}))
    costs = actor_speedup.costs(TIC_TAC_TOE)
    for locked in (False, True):
        rates = actor_speedup.measured(TIC_TAC_TOE, counts, RATE_UPDATES, ROUNDS, locked=locked)
        steps = RATE_UPDATES * TIC_TAC_TOE.steps_per_update
        for rate in rates:
            share = costs.share if locked else 0.0
            model = actor_speedup.modelled(rate.actors, cores, share)
            published = f", published {paper[rate.actors]:g}×" if rate.actors in paper else ""
            report.add(
                f"tic-tac-toe, {steps} steps, {'under a lock' if locked else 'lock-free'}",
                counted(rate.actors, "actor"), [steps / each for each in rate.rounds],
                f"{rate.steps_per_second / rates[0].steps_per_second:.2f}×, modelled "
                f"{model:.2f}× on {cores} cores{published}",
            )  # fmt: skip


def counted(number: int, what: str) -> str:
    """Example: counted(2, "actor") is "2 actors"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def measure_threads(report: Report) -> None:
    """One torch thread an actor beside more."""
    case = f"tic-tac-toe, {ACTORS} actors, {THREAD_UPDATES} updates"
    for threads in (1, 2):
        rate = actor_speedup.measured(
            TIC_TAC_TOE, (ACTORS,), THREAD_UPDATES, ROUNDS, threads=threads
        )[0]
        steps = THREAD_UPDATES * TIC_TAC_TOE.steps_per_update
        report.add(
            case, f"{counted(threads, 'thread')} an actor", [steps / each for each in rate.rounds]
        )


def measure_data(report: Report) -> None:
    """Steps to a score by number of actors, on the clock, where all are equally quick."""
    found: dict[int, list[int | None]] = {}
    for actors in ON_CLOCK:
        found[actors] = []
        pace = Pace(tuple(1 + 0.01 * actor for actor in range(actors)), gap=0.0)
        for seed in CLOCK_SEEDS:
            done = train_shared(
                TIC_TAC_TOE, actors, engine="virtual", seed=seed, look=LOOK, pace=pace
            )
            found[actors].append(actor_speedup.steps_to_score(done.looks, TIC_TAC_TOE))
    report.extra["steps to the score"] = {
        "setting": TIC_TAC_TOE.name, "goal": TIC_TAC_TOE.goal, "steps": found
    }  # fmt: skip
    for actors, steps in found.items():
        there = [each for each in steps if each is not None]
        words = f"after {statistics.median(there):.0f} steps" if there else "not at all"
        report.notes.append(
            f"On the clock, {TIC_TAC_TOE.goal:g} {TIC_TAC_TOE.unit} is reached by "
            f"{counted(actors, 'actor')} {words} (the median of the {len(there)} of "
            f"{len(CLOCK_SEEDS)} seeds that do)."
        )


def measure_staleness(report: Report) -> None:
    """Scores by steps played of all ways, with staleness counted beside the formula's."""
    found = stale_actors.curves(TIC_TAC_TOE, STALE_ROLLOUTS, STALE_ACTORS, seeds=CLOCK_SEEDS)
    report.extra["curves"] = [
        {
            "way": each.way.label, "corrected": each.way.corrected, "staleness": each.staleness,
            "steps": each.steps, "scores": each.scores, "seconds": each.seconds,
        }
        for each in found
    ]  # fmt: skip
    for each in found:
        formula = ""
        if each.way.options["mode"] == "asynchronous":
            every = each.way.options.get("fetch_every", 1)
            long_run = mean_staleness(STALE_ACTORS, fetch_every=every)
            formula = f", {long_run:.1f} by the formula in the long run"
        ends = [scores[-1] for scores in each.scores]
        report.notes.append(
            f"{each.way.label}: {statistics.median(ends):.1f} (worst {min(ends):.1f}) "
            f"{TIC_TAC_TOE.unit} after {each.steps[-1]} steps; mean staleness "
            f"{each.staleness:.1f} updates{formula}."
        )
