"""A figure of times (18.6): what is asked of its axes, and what stands in it by that."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helpers.exercises.drives.calling import Function, failed, made, there, wrong_signature
from helpers.exercises.spec import Case, Observation

Calls = Sequence[Sequence[Any]]


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


def _numbers(value: Any) -> list[float]:
    """All numbers in a value, in their order; texts are none."""
    if isinstance(value, bool | str) or value is None:
        return []
    if isinstance(value, int | float):
        return [float(value)] if abs(value) < 1e300 or value != value else [math.inf]
    return [n for each in value for n in _numbers(each)] if isinstance(value, list) else []


def _args(call: Sequence[Any], names: str) -> dict[str, Any]:
    """A call's arguments by name."""
    _, args, options = call
    return {**dict(zip(names.split(), args, strict=False)), **options}


def segments(calls: Calls) -> Iterator[tuple[float, float]]:
    """The lines that may stand for intervals: their lower and upper ends."""
    for call in calls:
        name = call[0]
        if name in ("errorbar", "bar", "barh"):
            given = _args(call, {"errorbar": "x y yerr xerr", "bar": "x y", "barh": "y x"}[name])
            given["y" if name == "bar" else "x"] = given.get(
                {"bar": "height", "barh": "width"}.get(name, ""),
                given.get("y" if name == "bar" else "x"),
            )
            for axis in ("x", "y"):
                err = given.get(f"{axis}err")
                if err is not None:
                    yield from _around(_numbers(given.get(axis)), err)
        elif name in ("vlines", "hlines"):
            given = _args(call, "at low high")
            low = given.get("ymin" if name == "vlines" else "xmin", given.get("low"))
            high = given.get("ymax" if name == "vlines" else "xmax", given.get("high"))
            yield from zip(_numbers(low), _numbers(high), strict=False)
        yield from _lines(call)


def _around(centers: list[float], err: Any) -> Iterator[tuple[float, float]]:
    two = isinstance(err, list) and len(err) == 2 and isinstance(err[0], list)
    below, above = (_numbers(err[0]), _numbers(err[1])) if two else (_numbers(err),) * 2
    for place, center in enumerate(centers):
        if below and above:
            yield (
                center - below[min(place, len(below) - 1)],
                center + above[min(place, len(above) - 1)],
            )


def _lines(call: Sequence[Any]) -> Iterator[tuple[float, float]]:
    """Lines, boxes and areas that are given by their ends, or by one and a width."""
    name = call[0]
    if name == "plot":
        for each in call[1][:2]:
            ends = _numbers(each)
            if len(ends) in (2, 3) and min(ends) != max(ends):
                yield min(ends), max(ends)
    elif name in ("fill_between", "fill_betweenx"):
        given = _args(call, "x low high")
        low = given.get("y1" if name == "fill_between" else "x1", given.get("low"))
        high = given.get("y2" if name == "fill_between" else "x2", given.get("high"))
        yield from zip(_numbers(low), _numbers(high), strict=False)
        along = _numbers(given.get("y" if name == "fill_betweenx" else "x"))
        if len(along) == 2:
            yield min(along), max(along)
    elif name == "broken_barh":
        ends = _numbers(call[1][0]) if call[1] else []
        yield from ((one, one + width) for one, width in zip(ends[::2], ends[1::2], strict=False))
    elif name in ("bar", "barh"):
        given = _args(call, "at size")
        start = _numbers(given.get("bottom" if name == "bar" else "left"))
        size = _numbers(given.get("height" if name == "bar" else "width", given.get("size")))
        yield from ((one, one + other) for one, other in zip(start, size, strict=False))


def marks(calls: Calls) -> list[float]:
    """All numbers at which something is drawn."""
    drawn = ("errorbar", "bar", "barh", "plot", "scatter", "hlines", "vlines", "step", "stem",
             "axvline", "axhline")  # fmt: skip
    return [n for name, args, options in calls if name in drawn
            for n in _numbers([*args, *options.values()])]  # fmt: skip


def texts(calls: Calls) -> list[str]:
    """All texts in the figure but those that say how something looks."""
    looks = {"fmt", "color", "c", "marker", "linestyle", "ls", "va", "ha", "loc", "which", "axis",
             "fontsize", "transform", "label"}  # fmt: skip
    found: list[str] = []
    for name, args, options in calls:
        label = [options["label"]] if isinstance(options.get("label"), str) else []
        kept = [value for key, value in options.items() if key not in looks]
        found += _texts([*args, *kept] if name not in ("plot", "errorbar") else args) + label
    return found


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [t for each in value for t in _texts(each)] if isinstance(value, list) else []


def points(calls: Calls) -> Iterator[tuple[Any, Any]]:
    """What stands at which place: pairs of x and y, numbers or names, of marks and bars."""
    orders = {"errorbar": "x y", "plot": "x y", "scatter": "x y", "bar": "x height",
              "barh": "y width"}  # fmt: skip
    for call in calls:
        if call[0] in orders:
            first, second = orders[call[0]].split()
            given = _args(call, orders[call[0]])
            one, other = (_items(given.get(name)) for name in (first, second))
            yield from zip(one, other, strict=False)


def _items(value: Any) -> list[Any]:
    """Numbers and names; whatever else stands there is no place."""
    several = value if isinstance(value, list) else [value]
    return [one if type(one) is str else (_numbers(one) or [math.nan])[0] for one in several]


def labels(calls: Calls) -> dict[float, str]:
    """The texts at an axis, by their places, where both are given in one call."""
    found: dict[float, str] = {}
    for name, args, options in calls:
        if name in ("set_xticks", "set_yticks"):
            given = {**dict(zip(("ticks", "labels"), args, strict=False)), **options}
            places, said = _numbers(given.get("ticks")), given.get("labels")
            if isinstance(said, list) and len(said) == len(places):
                found |= {place: text for place, text in zip(places, said, strict=True)
                          if isinstance(text, str)}  # fmt: skip
    return found


def words(calls: Calls) -> list[str]:
    """What is written at the axes."""
    return [t for name, args, options in calls if name in ("set_xlabel", "set_ylabel", "set")
            for t in _texts([*args, *options.values()])]  # fmt: skip
