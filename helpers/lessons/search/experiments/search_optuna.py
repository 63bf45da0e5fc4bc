"""The same search with Optuna: several processes on one journal, its pruner, and the trap of seeds.

Processes share nothing but the journal, a file to which each appends what it does. On many machines
it is the same, with the file where all of them see it.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from helpers.engine.comm import Comm
from helpers.lessons.search.algorithms.ranges import Choice, LogUniform, Range
from helpers.lessons.search.algorithms.rungs import Job, rungs
from helpers.lessons.search.experiments.search_models import (
    FACTOR,
    LEAST,
    MOST,
    SPACE,
    TRIALS,
    Models,
)

STUDY = "digits"
RESOURCES = rungs(LEAST, MOST, FACTOR)
Settings = dict[str, Any]


@dataclass
class Study:
    """What a search by Optuna found.

    tried: of each trial that somebody has trained, the losses by steps, as far as it got. seconds:
    of all of it, without starting the processes.
    """

    tried: dict[int, dict[int, float]]
    seconds: float

    @property
    def losses(self) -> list[dict[int, float]]:
        """Of each rung, by trial, as the hand-written searches have it."""
        return [
            {trial: losses[steps] for trial, losses in self.tried.items() if steps in losses}
            for steps in RESOURCES
        ]

    @property
    def steps(self) -> int:
        """What was trained in all."""
        return sum(map(max, self.tried.values()))


def quiet() -> Any:
    """Optuna without its log lines."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


class Setting(NamedTuple):
    """What all processes of a search have to agree on."""

    trials: int
    seed: int = 0


def on_optuna(
    trials: int = TRIALS, workers: int = 2, seed: int = 0, journal: str | Path | None = None
) -> Study:
    """Search with Optuna on so many processes, all on one journal, pruned by successive halving.

    Optuna's halving decides about a trial once, when it comes to a rung, and never takes it up
    again: there is nobody who could go on with it. Its TPE chooses settings, each process from a
    seed of its own, by what all have found so far. journal: the file, kept for later; one that is
    there already is gone on with, and trials that wait in it come first. Raises what `helpers.run`
    raises.
    """
    from helpers.engine.run import run

    setting = Setting(trials, seed)
    with tempfile.TemporaryDirectory() as folder:
        path = str(journal or Path(folder) / "journal.log")
        opened(path, setting)
        spans = run(work, path, setting, ranks=workers, timeout=300, device="cpu", show=False)
        seconds = max(end for _, end in spans) - min(begin for begin, _ in spans)
        found = {
            each.user_attrs.get("trial", each.number): dict(each.intermediate_values)
            for each in opened(path, setting).trials
            if each.intermediate_values
        }
        return Study(found, seconds)


def opened(path: str, setting: Setting, process: int = 0) -> Any:
    """The study in a journal, made where there is none yet."""
    optuna = quiet()
    backend = optuna.storages.journal.JournalFileBackend(path)
    return optuna.create_study(
        storage=optuna.storages.JournalStorage(backend),
        study_name=STUDY,
        load_if_exists=True,
        # Two processes with the same seed would try the same settings.
        sampler=optuna.samplers.TPESampler(seed=setting.seed * 1000 + process),
        pruner=optuna.pruners.SuccessiveHalvingPruner(LEAST, FACTOR),
    )


def work(comm: Comm, path: str, setting: Setting) -> tuple[float, float]:
    """One process: ask for a trial, train it rung by rung, tell; until there are enough.

    All see the same trials before theirs in the journal.
    """
    study, failed = opened(path, setting, comm.rank), quiet().trial.TrialState.FAIL
    comm.barrier()
    begin = time.time()
    while True:
        trial = study.ask()
        before = [e for e in study.trials if e.number < trial.number and e.state != failed]
        if len(before) >= setting.trials:  # one too many: nobody trains it
            study.tell(trial, state=failed)
            return begin, time.time()
        attempt(study, trial, setting)


def attempt(study: Any, trial: Any, setting: Setting) -> None:
    """Train a trial up to each rung, and stop where the pruner says so."""
    number = trial.user_attrs.get("trial", trial.number)
    models = Models(setting.seed, given={number: suggested(trial, SPACE)})
    state = None
    for rung, steps in enumerate(RESOURCES):
        loss, state = models.train(Job(number, rung, steps), state)
        trial.report(loss, steps)
        if rung + 1 < len(RESOURCES) and trial.should_prune():
            study.tell(trial, state=quiet().trial.TrialState.PRUNED)
            return
    study.tell(trial, loss)


def suggested(trial: Any, space: Mapping[str, Range]) -> Settings:
    """A trial's settings, asked of Optuna in the words that it has for each kind of range."""

    def asked(name: str, span: Any) -> Any:
        if isinstance(span, Choice):
            return trial.suggest_categorical(name, list(span.options))
        return trial.suggest_float(name, span.low, span.high, log=isinstance(span, LogUniform))

    return {name: asked(name, span) for name, span in sorted(space.items())}


# --- the trap of seeds ----------------------------------------------------------------------------

TRIED = 20  # trials of such a study


def quickly(settings: Settings) -> float:
    """A loss without training, for searches that are repeated: best at rate 0.1 and width 32."""
    rate = math.log10(settings["rate"]) + 1
    return rate**2 + abs(math.log2(settings["width"]) - 5) + settings["momentum"] / 10


def seeded() -> Any:
    """A study in memory whose sampler has a seed."""
    optuna = quiet()
    return optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))


def with_threads(n_jobs: int) -> list[Settings]:
    """The settings that a seeded study tries, in the order of their numbers: `study.optimize`.

    With n_jobs of 2 or more Optuna's threads each give the sampler a new seed, of the system's
    choosing, before every trial: the one that was asked for is gone.
    """
    study = seeded()
    study.optimize(lambda trial: quickly(suggested(trial, SPACE)), TRIED, n_jobs=n_jobs)
    return [dict(each.params) for each in study.trials]


def ask_and_tell(at_once: int) -> list[Settings]:
    """The same with a loop of one's own: ask for some, train them at once, tell in their order.

    One thread alone talks to the sampler, and in the same order every time, so the seed holds
    however the trainings race.
    """
    study = seeded()
    with ThreadPoolExecutor(at_once) as pool:
        for start in range(0, TRIED, at_once):
            asked = [study.ask() for _ in range(min(at_once, TRIED - start))]
            losses = pool.map(quickly, [suggested(trial, SPACE) for trial in asked])
            for trial, loss in zip(asked, losses, strict=True):
                study.tell(trial, loss)
    return [dict(each.params) for each in study.trials]


def different(search: Callable[[], list[Settings]], repeats: int = 5) -> int:
    """Of some repeats of a search, how many tried other settings than the first one.

    Repeats may come out alike by luck; so they are counted.
    """
    first = search()
    return sum(search() != first for _ in range(repeats - 1))
