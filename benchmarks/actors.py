"""A3C on the cores of one machine: what it learns, how quickly, and what more actors bring.

Scores are of the likeliest actions, in games that nobody trained on. The paper's speedups are times
to a score on many cores; here steps a second are measured on the cores there are, and steps to a
score on the virtual clock, where any number of actors runs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import torch

from benchmarks.gymnasium_peer import Peer
from benchmarks.report import Report
from helpers.course.setup.machine import usable_cores
from helpers.lessons.actors.algorithms.rms_prop import shared_rms_prop
from helpers.lessons.actors.algorithms.staleness import mean_staleness
from helpers.lessons.actors.algorithms.v_trace import v_trace
from helpers.lessons.actors.experiments import actor_speedup, stale_actors
from helpers.lessons.actors.experiments.actor_settings import CART_POLE, TIC_TAC_TOE, Setting
from helpers.lessons.actors.experiments.shared_actors import Pace, train_shared
from helpers.lessons.actors.experiments.stale_clock import arrivals, counted_staleness
from helpers.lessons.parameter_servers.experiments.train import one_thread

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


def rounds(
    counts: Sequence[int], updates: int, locked: bool = False, threads: int = 1
) -> dict[int, list[float]]:
    """Steps a second by number of actors, in each of some rounds; all numbers take turns."""
    short = TIC_TAC_TOE._replace(updates=updates)
    found: dict[int, list[float]] = {count: [] for count in counts}
    for seed in range(ROUNDS):
        for count, rates in found.items():
            done = train_shared(short, count, locked=locked, threads=threads, seed=seed)
            rates.append(done.steps_per_second)
    return found


def locked_share(updates: int = 50) -> float:
    """Of one actor's time, what passes in the shared memory, on one thread: by medians."""
    task = TIC_TAC_TOE.task()
    weights = task.initial()
    squares, play, update = torch.zeros_like(weights), [], []
    with one_thread():
        for step in range(updates):
            begin = time.perf_counter()
            gradient = task.gradient(weights, 0, step)
            between = time.perf_counter()
            shared_rms_prop(weights, squares, gradient, TIC_TAC_TOE.rate)
            play.append(between - begin)
            update.append(time.perf_counter() - between)
    taken = statistics.median(update)
    return taken / (statistics.median(play) + taken)


def measure_rates(report: Report) -> None:
    """Steps a second by number of actors, beside the model and the paper's table."""
    cores, paper = round(usable_cores()), actor_speedup.paper()
    counts = tuple(sorted({1, 2, 4, cores}))
    steps, share = RATE_UPDATES * TIC_TAC_TOE.steps_per_update, locked_share()
    for locked in (False, True):
        found = rounds(counts, RATE_UPDATES, locked=locked)
        alone = statistics.median(found[1])
        for actors, rates in found.items():
            model = actor_speedup.modelled(actors, cores, share if locked else 0.0)
            published = f", published {paper[actors]:g}×" if actors in paper else ""
            report.add(
                f"tic-tac-toe, {steps} steps, {'under a lock' if locked else 'lock-free'}",
                counted(actors, "actor"), [steps / each for each in rates],
                f"{statistics.median(rates) / alone:.2f}×, modelled {model:.2f}× on {cores} cores"
                f"{published}",
            )  # fmt: skip


def counted(number: int, what: str) -> str:
    """Example: counted(2, "actor") is "2 actors"."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def measure_threads(report: Report) -> None:
    """One torch thread an actor beside more."""
    case = f"tic-tac-toe, {ACTORS} actors, {THREAD_UPDATES} updates"
    steps = THREAD_UPDATES * TIC_TAC_TOE.steps_per_update
    for threads in (1, 2):
        rates = rounds((ACTORS,), THREAD_UPDATES, threads=threads)[ACTORS]
        name = f"{counted(threads, 'thread')} an actor"
        report.add(case, name, [steps / each for each in rates])


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
    report.extra["curves"] = []
    for way in stale_actors.ways():
        scores, late = [], []
        for seed in CLOCK_SEEDS:
            log = arrivals(STALE_ROLLOUTS, STALE_ACTORS, seed=seed, **way.options)
            correct = v_trace if way.corrected else None
            run = stale_actors.replay(
                log, TIC_TAC_TOE, correct=correct, seed=seed, look=STALE_ROLLOUTS // 10
            )
            scores.append([TIC_TAC_TOE.score(look.weights) for look in run.looks])
            late.append(counted_staleness(log))
        steps, stale = [look.steps for look in run.looks], statistics.mean(late)
        report.extra["curves"].append({
            "way": way.label, "corrected": way.corrected, "staleness": stale, "steps": steps,
            "scores": scores, "seconds": log[-1].seconds,
        })  # fmt: skip
        formula = ""
        if way.options["mode"] == "asynchronous":
            long_run = mean_staleness(STALE_ACTORS, fetch_every=way.options["fetch_every"])
            formula = f", {long_run:.1f} by the formula in the long run"
        ends = [each[-1] for each in scores]
        report.notes.append(
            f"{way.label}: {statistics.median(ends):.1f} (worst {min(ends):.1f}) "
            f"{TIC_TAC_TOE.unit} after {steps[-1]} steps; mean staleness {stale:.1f} updates"
            f"{formula}."
        )
