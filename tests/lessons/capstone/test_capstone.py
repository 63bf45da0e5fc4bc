"""Five ways in three settings, and the logbook that their runs are written into."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from helpers.lessons.capstone.algorithms.rates import best_rate
from helpers.lessons.capstone.algorithms.runs import Run
from helpers.lessons.capstone.algorithms.timing import timed
from helpers.lessons.capstone.experiments import race
from helpers.lessons.capstone.experiments.logbook import MIME, Logbook, broken
from helpers.lessons.capstone.experiments.settings import CLOCK, HOSTS, PROCESSES, WAYS, Setting
from helpers.lessons.capstone.experiments.ways import train, updates_of
from helpers.lessons.capstone.experiments.worn_digits import WIDTHS, WornTask, worn_digits

FEW = replace(PROCESSES.on_clock(), steps=60)
GIVEN = {"processes": {"first": "synchronous", "best": "synchronous"}}


def test_pictures_are_the_same_everywhere_and_a_task_is_made_anew_elsewhere() -> None:
    first, again = worn_digits(), worn_digits.__wrapped__()
    assert all(map(torch.equal, first, again))
    assert first.train_x.shape == (12_000, WIDTHS[0]) and first.test_y.shape == (2000,)
    assert float(first.train_x.min()) >= 0 and float(first.train_x.max()) <= 1
    task = WornTask(seed=3)
    sent = pickle.dumps(task)
    assert len(sent) < 500
    there = pickle.loads(sent)
    assert torch.equal(there.initial(), task.initial())
    assert torch.equal(there.rows(1, 7, 16), task.rows(1, 7, 16))


@pytest.mark.parametrize("way", WAYS)
def test_every_way_learns_and_sees_as_many_pictures(way: str) -> None:
    run = train(way, FEW, 0.05 if way == "asynchronous" else 0.3, seed=1)
    errors = [look.error for look in run.looks]
    assert errors[0] > 80 and errors[-1] < 65
    assert [look.at for look in run.looks] == sorted(look.at for look in run.looks)
    gradients = {"asynchronous": 1, "local steps": FEW.workers * 10}.get(way, FEW.workers)
    assert updates_of(way, FEW) * gradients == FEW.steps * FEW.workers


@pytest.mark.real
@pytest.mark.parametrize("workers", [3, pytest.param(1, marks=pytest.mark.thorough)])
def test_slices_make_the_weights_of_synchronous_training(workers: int) -> None:
    setting = replace(PROCESSES, workers=workers, steps=30, compute=0.0005, aggregate=workers)
    whole = train("synchronous", setting.on_clock(), 0.3, seed=2)
    sliced = train("vertical slices", setting, 0.3, seed=2)
    assert len(whole.looks) == len(sliced.looks)
    assert [s.error for s in sliced.looks] == pytest.approx([w.error for w in whole.looks], abs=0.3)
    assert 0 < sliced.began <= sliced.looks[0].at and all(look.took > 0 for look in sliced.looks)


def test_on_the_clock_the_same_run_comes_out_the_same() -> None:
    few = replace(CLOCK, steps=20)
    for way in ("asynchronous", "vertical slices"):
        assert train(way, few, 0.1, 4) == train(way, few, 0.1, 4) != train(way, few, 0.1, 5)
    with pytest.raises(ValueError, match="There is no way 'ring'; there are: synchronous"):
        train("ring", few, 0.1, 1)


def test_the_slow_host_holds_up_who_waits_for_it() -> None:
    hosts = replace(HOSTS.on_clock(), steps=20)
    last = {way: train(way, hosts, 0.1, 1).looks[-1].at for way in WAYS}
    assert last["asynchronous"] < last["spare replicas"] < last["synchronous"]


# --- the logbook and the race ------------------------------------------------------------------


def test_nothing_runs_before_something_is_predicted(tmp_path: Path) -> None:
    book = Logbook(tmp_path / "book.jsonl")
    with pytest.raises(race.NoPredictions, match="Write yours down first"):
        race.search(book, timed, best_rate, FEW)
    with pytest.raises(race.NoPredictions, match="Write yours down first"):
        race.race(book, timed, FEW, dict.fromkeys(WAYS, 0.1), [0])
    assert race.predict(book, {**GIVEN, "hosts": None}) == ["hosts"]
    race.predict(book, GIVEN)
    assert len(book.entries) == 1  # the same again is no other prediction


def test_what_the_logbook_holds_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[tuple[str, int]] = []

    def fast(way: str, setting: Setting, rate: float, seed: int) -> Run:
        trained.append((way, seed))
        return Run(0.0, [(1.0, 0.0, 90.0), (2.0, 0.0, 5.0 if seed else 80.0), (3.0, 0.0, 4.0)])  # type: ignore[list-item]

    monkeypatch.setattr(race, "train", fast)
    book = Logbook(tmp_path / "book.jsonl")
    race.predict(book, GIVEN)
    rates = dict.fromkeys(WAYS, 0.1)
    times, ends = race.race(book, timed, FEW, rates, [0, 1])
    assert len(trained) == 10 and trained[:2] == [(WAYS[0], 0), (WAYS[1], 0)]  # in turn
    again = Logbook(tmp_path / "book.jsonl")  # another kernel
    assert race.race(again, timed, FEW, rates, [0, 1]) == (times, ends) and len(trained) == 10
    race.race(again, timed, FEW, {**rates, WAYS[0]: 0.3}, [0, 1])
    assert len(trained) == 12
    assert all(math.isinf(seconds) for seconds in times[WAYS[0]])
    lines = (tmp_path / "book.jsonl").read_text()
    assert "Infinity" not in lines and '"seconds": null' in lines
    bundle = again._repr_mimebundle_()
    assert broken(json.loads(json.dumps(bundle[MIME]))["entries"]) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: lines[1:], "Entry 1 does not follow"),
        (lambda lines: [lines[0], lines[2], lines[1]], "Entry 2 does not follow"),
        (lambda lines: [lines[0].replace("synchronous", "local steps"), *lines[1:]], "was changed"),
        (lambda lines: ["no entry", *lines], "is no logbook"),
        (lambda lines: ["{}", *lines], "Entry 1 is none"),
    ],
)
def test_a_damaged_logbook_is_told(tmp_path: Path, change: Any, words: str) -> None:
    path = tmp_path / "book.jsonl"
    book = Logbook(path)
    for number in range(3):
        book.add("prediction", given={**GIVEN, "number": number})
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    with pytest.raises(ValueError, match=words):
        Logbook(path)


def test_a_setting_may_take_its_pictures_from_mnist(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    pictures = {f"x_{part}": random.integers(0, 256, (30, 28, 28), dtype=np.uint8)
                for part in ("train", "test")}  # fmt: skip
    digits = {f"y_{part}": random.integers(0, 10, 30, dtype=np.uint8) for part in ("train", "test")}
    np.savez(tmp_path / "mnist.npz", **pictures, **digits)
    setting = replace(FEW, name="MNIST", steps=6, mnist_at=str(tmp_path / "mnist.npz"))
    assert train("vertical slices", setting, 0.1, 1) != train("vertical slices", FEW, 0.1, 1)
