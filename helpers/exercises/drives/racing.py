"""Drivers for lesson 18: a training that is made once, a search on a budget, sentences, a figure.

Nothing here knows what is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helpers.exercises.drives.calling import Function, failed, made, there, wrong_signature
from helpers.exercises.drives.values import plain
from helpers.exercises.spec import Case, Observation

_TRAININGS = 60  # of one search: more than any needs


def times_a_run(fn: Function, case: Case) -> Observation:
    """Call `fn(train, target)`; `values[0]` is [what it gives, how often it trained].

    A case's arguments: (began, looks), target. A second training of the same would give the same.
    """
    trouble = wrong_signature(fn, 2)
    if trouble:
        return trouble
    (began, looks), target = case.args[0]
    calls = 0

    def train() -> tuple[float, list[tuple[float, float, float]]]:
        nonlocal calls
        calls += 1
        return began, [(at, took, error) for at, took, error in looks]

    try:
        value = plain(fn(train, target))
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[[value, calls]])


def searches(fn: Function, case: Case) -> Observation:
    """Call `fn(result_of, rates, seeds, budget)`; `values[0]` is [what it gives, trainings].

    A case's arguments: `[[rate, seed, seconds, end], …]`, rates, seeds, budget. trainings:
    `[[rate, seed], …]` in the order in which they were asked for.
    """
    trouble = wrong_signature(fn, 4)
    if trouble:
        return trouble
    table, rates, seeds, budget = case.args[0]
    known = {(rate, seed): (float(seconds), float(end)) for rate, seed, seconds, end in table}
    asked: list[list[Any]] = []

    def result_of(rate: float, seed: int) -> tuple[float, float]:
        if len(asked) >= _TRAININGS:
            raise RuntimeError(f"There were {_TRAININGS} trainings, of a budget of {budget}.")
        if (rate, seed) not in known:
            raise ValueError(f"There is no rate {rate!r} or no seed {seed!r}.")
        asked.append([rate, seed])
        return known[rate, seed]

    try:
        value = plain(fn(result_of, list(rates), list(seeds), budget))
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[[value, asked]])


def tries_lists(fn: Function, case: Case) -> Observation:
    """Call `fn(a, b)`: `values[0]` is what it gives, or "ValueError" where the case's option
    `refuses` says that one is to be raised, and it was."""
    trouble = wrong_signature(fn, 2)
    if trouble:
        return trouble
    a, b = case.args[0]
    try:
        value = plain(fn(list(a), list(b)))
    except Exception as error:
        seen = failed(error, fn)
        if not case.options["refuses"] or seen.kind != "ValueError":
            return seen
        value = "ValueError" if seen.text.strip() else "ValueError without a sentence"
    return Observation(values=[value])


class Panel:
    """What `draw` is given in the place of matplotlib's Axes: it keeps what is asked of it."""

    def __init__(self) -> None:
        self.calls: list[list[Any]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*args: Any, **options: Any) -> Any:
            self.calls.append([name, [_told(a) for a in args],
                               {key: _told(value) for key, value in options.items()}])  # fmt: skip
            return _Anything()

        return call


class _Anything:
    """What a method of Axes returns: whatever is asked of it, nothing happens."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()

    def __call__(self, *args: Any, **options: Any) -> Any:
        return _Anything()

    def __getitem__(self, index: Any) -> Any:
        return _Anything()

    def __iter__(self) -> Any:
        return iter(())


def _told(value: Any, depth: int = 0) -> Any:
    """A number, a text, or lists of these; anything else by its kind."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        value = list(value)
    if isinstance(value, str | int | float):
        return value
    if depth < 4 and hasattr(value, "__iter__"):
        return [_told(each, depth + 1) for each in value]
    return type(value).__name__


def calls_of(panel: Panel) -> list[list[Any]]:
    """What was asked of it: `[name, arguments, options]` in order."""
    return list(panel.calls)


def draws_panel(fn: Function, case: Case) -> Observation:
    """Call `fn(ax, times)`: `values[0]` is what was asked of `ax`, `[name, arguments, options]`.

    A case's arguments: `[[name, seconds], …]`.
    """
    trouble = wrong_signature(fn, 2)
    if trouble:
        return trouble
    times = {name: list(seconds) for name, seconds in case.args[0][0]}
    try:
        panel = made(fn, Panel)
        fn(panel, times)
        drawn = there(fn, calls_of, panel)
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[drawn])


def says(fn: Function, case: Case) -> Observation:
    """Call `fn(times, ends)`: `values[0]` is what it says.

    A case's arguments: two tables, `[[name, numbers], …]`.
    """
    trouble = wrong_signature(fn, 2)
    if trouble:
        return trouble
    times, ends = ({name: list(numbers) for name, numbers in table} for table in case.args[0])
    try:
        return Observation(values=[plain(fn(times, ends))])
    except Exception as error:
        return failed(error, fn)
