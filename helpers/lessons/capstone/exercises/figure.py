"""A figure of times (18.6): what is asked of its axes, and what stands in it by that."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.values import tensors
from helpers.checks.spec import Case, Observation

Calls = Sequence[Sequence[Any]]
_ENDS = {"vlines": "x ymin ymax", "hlines": "y xmin xmax",
         "fill_between": "x y1 y2", "fill_betweenx": "y x1 x2"}  # fmt: skip
_PLACES = {"errorbar": "x y yerr xerr", "plot": "x y", "scatter": "x y",
           "bar": "x height", "barh": "y width"}  # fmt: skip


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
        return self

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self

    def __getitem__(self, index: Any) -> Any:
        return self

    def __iter__(self) -> Any:
        return iter(())


def _told(value: Any, depth: int = 0) -> Any:
    """A number, a text, or lists of these; anything else by its kind."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or isinstance(value, str | int | float):
        return value
    if depth < 4 and hasattr(value, "__iter__"):
        return [_told(each, depth + 1) for each in value]
    return type(value).__name__


def draws_panel(fn: Function, case: Case) -> Observation:
    """Call `fn(ax, times)`: `values[0]` is what was asked of `ax`, `[name, arguments, options]`."""
    if trouble := wrong_signature(fn, 2):
        return trouble
    try:
        panel = Panel()
        fn(panel, tensors(case.args[0][0]))
        return Observation(values=[panel.calls])
    except Exception as error:
        return failed(error, fn)


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
            given = _args(call, _PLACES[name])
            for axis, size, start in (("x", "width", "left"), ("y", "height", "bottom")):
                sizes = _numbers(given.get(size))
                if f"{axis}err" in given:
                    centers = sizes or _numbers(given.get(axis))
                    yield from _around(centers, given[f"{axis}err"])
                for one, other in zip(_numbers(given.get(start)), sizes, strict=False):
                    yield one, one + other
        elif name in _ENDS:
            along, low, high = (_numbers(_args(call, _ENDS[name]).get(each))
                                for each in _ENDS[name].split())  # fmt: skip
            yield from zip(low, high, strict=False)
            if len(along) == 2:
                yield min(along), max(along)
        elif name == "plot":
            for each in map(_numbers, call[1][:2]):
                if len(each) in (2, 3) and min(each) != max(each):
                    yield min(each), max(each)
        elif name == "broken_barh":
            ends = _numbers(call[1][:1])
            for one, width in zip(ends[::2], ends[1::2], strict=False):
                yield one, one + width


def _around(centers: list[float], err: Any) -> Iterator[tuple[float, float]]:
    two = isinstance(err, list) and len(err) == 2 and isinstance(err[0], list)
    below, above = (_numbers(err[0]), _numbers(err[1])) if two else (_numbers(err),) * 2
    for place, center in enumerate(centers if below and above else ()):
        low, high = (each[min(place, len(each) - 1)] for each in (below, above))
        yield center - low, center + high


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
    for call in calls:
        if call[0] in _PLACES:
            given = _args(call, _PLACES[call[0]])
            one, other = (_items(given.get(name)) for name in _PLACES[call[0]].split()[:2])
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
            given = _args((name, args, options), "ticks labels")
            places, said = _numbers(given.get("ticks")), given.get("labels")
            if isinstance(said, list) and len(said) == len(places):
                found |= {place: text for place, text in zip(places, said, strict=True)
                          if isinstance(text, str)}  # fmt: skip
    return found


def words(calls: Calls) -> list[str]:
    """What is written at the axes."""
    return [t for name, args, options in calls if name in ("set_xlabel", "set_ylabel", "set")
            for t in _texts([*args, *options.values()])]  # fmt: skip
