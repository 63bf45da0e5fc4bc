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


def labels(calls: Calls, axes: str = "xy") -> dict[float, str]:
    """The texts at some axes, by their places."""
    found: dict[float, str] = {}
    places: dict[str, list[float]] = {}
    for name, args, options in calls:
        what, axis = _ticks(name)
        if axis and axis in axes:
            given = _args((name, args, options), what)
            places[axis] = _numbers(given["ticks"]) if "ticks" in given else places.get(axis, [])
            said = given.get("labels")
            if isinstance(said, list) and len(said) == len(places[axis]):
                found |= {place: text for place, text in zip(places[axis], said, strict=True)
                          if isinstance(text, str)}  # fmt: skip
    return found


def _ticks(name: str) -> tuple[str, str]:
    """What a call that sets ticks takes, and of which axis; "" for another call."""
    what = {"ticks": "ticks labels", "ticklabels": "labels"}.get(name[5:], "")
    return what, name[4] if what and name[:4] == "set_" else ""


def refused(calls: Calls) -> str | None:
    """Ticks that matplotlib refuses, or puts elsewhere: names for places, or other in number."""
    places: dict[str, int] = {}
    for name, args, options in calls:
        what, axis = _ticks(name)
        given = _args((name, args, options), what) if axis else {}
        ticks, said = given.get("ticks"), given.get("labels")
        if isinstance(ticks, list):
            if said is not None and any(isinstance(each, str) for each in ticks):
                return f"`{name}` takes places first and names behind them"
            places[axis] = len(ticks)
        if isinstance(said, list) and len(said) != places.get(axis, len(said)):
            return f"`{name}` has {places[axis]} places and {len(said)} names"
    return None


def words(calls: Calls, axes: str = "xy") -> list[str]:
    """What is written at some axes."""
    names = [f"{axis}label" for axis in axes]
    return [t for name, args, options in calls
            for key, value in [("", args), *options.items()]
            if name in [f"set_{n}" for n in names] or (name == "set" and key in names)
            for t in _texts(value)]  # fmt: skip


def time_axis(calls: Calls) -> str:
    """Along which axis times lie, "x" or "y": across the names; "" where that is not to be seen."""
    for axis, other in ("yx", "xy"):
        if labels(calls, axis):
            return other
    kinds = {type(one) is str: axis for pair in points(calls)
             for one, axis in zip(pair, "yx", strict=True)}  # fmt: skip
    return kinds.get(True, "")


def notes(calls: Calls) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Texts put somewhere, each with where in the data's units, by axis; None for elsewhere."""
    at: Any
    for call in calls:
        if call[0] == "text":
            given = _args(call, "x y s")
            text, at = given.get("s"), [given.get("x"), given.get("y")]
        elif call[0] == "annotate":
            given = _args(call, "text xy xytext")
            text, at = given.get("text"), given.get("xytext") or given.get("xy")
        else:
            continue
        free = {"transform", "xycoords", "textcoords"} & given.keys()
        if isinstance(text, str):
            known = isinstance(at, list) and len(at) == 2 and not free
            yield text, dict(zip("xy", at, strict=True)) if known else None


def seen_from(calls: Calls, axis: str) -> tuple[float, float] | None:
    """From where to where an axis shows something, with room to spare; None if that is unknown."""
    other = {"axis", "margins", f"set_{axis}bound", f"set_{axis}scale", f"set_{axis}margin"}
    if any(name in other or f"{axis}lim" in options for name, _, options in calls):
        return None
    drawn = [n for ends in segments(calls) for n in ends if math.isfinite(n)]
    drawn += [0.0 for name, _, _ in calls if name == {"x": "barh", "y": "bar"}[axis]]
    low, high = min(drawn, default=0.0), max(drawn, default=0.0)
    names = {"x": ("left", "right"), "y": ("bottom", "top")}[axis]
    limits: list[Any] = [None, None]
    for call in calls:
        if call[0] == f"set_{axis}lim":
            given = _args(call, " ".join(names))
            if isinstance(given.get(names[0]), list):
                given |= dict(zip(names, given[names[0]], strict=False))
            for k, each in enumerate(("min", "max")):
                limits[k] = given.get(names[k], given.get(axis + each, limits[k]))
    ends = [(_numbers(n) or [end])[0] for n, end in zip(limits, (low, high), strict=True)]
    # A limit that was set is kept, another one is matplotlib's.
    spare = max(abs(ends[1] - ends[0]), 0.1 * abs(ends[1]))
    room = [spare * (1.0 if n is None else 0.25) for n in limits]
    return min(ends) - room[0], max(ends) + room[1]


def out_of_place(calls: Calls, way: str, placed: Sequence[Any]) -> str | None:
    """Whether a way's text stands in another row, or where nobody sees it. placed: of the texts
    that may be its own, where they stand."""
    along = time_axis(calls)
    if not along:
        return None
    across = "xy"[along == "x"]
    rows = [place for place, name in labels(calls, across).items() if name == way]
    own = [at for at in placed if at[across] == way or _is_at(at[across], rows)]
    if not own and (rows or any(isinstance(at[across], str) for at in placed)):
        return f"the text of {way} does not stand in its row."
    shown = seen_from(calls, along)
    values = [at[along] for at in own if isinstance(at[along], int | float)]
    if shown and values and not any(shown[0] <= value <= shown[1] for value in values):
        return (
            f"the text of {way} stands at {values[0]:g}, out of the picture: take a place that is "
            f"seen whatever the times are, such as 0 with `ax.set_{along}lim(…)` from 0 on."
        )
    return None


def _is_at(place: Any, rows: Sequence[float]) -> bool:
    return isinstance(place, int | float) and any(abs(place - row) < 0.5 for row in rows)
