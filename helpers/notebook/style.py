"""One look for every figure of the course, readable for colour-blind people.

Colours are Okabe and Ito's (Color Universal Design, 2008). Where a point comes from, measured,
modelled or published, is told by colour and by marker, the same in every figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
RED = "#D55E00"
PINK = "#CC79A7"
GREY = "#7F7F7F"

# For series that compare algorithms, in this order.
CYCLE = (BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK)

# Where a point comes from: pass as `ax.plot(x, y, **MEASURED)`.
MEASURED: dict[str, Any] = {"color": BLUE, "marker": "o", "linestyle": "none", "label": "measured"}
MODELLED: dict[str, Any] = {
    "color": RED,
    "marker": "",
    "linestyle": "--",
    "linewidth": 1.8,
    "label": "modelled",
}
PUBLISHED: dict[str, Any] = {
    "color": BLACK,
    "marker": "D",
    "markerfacecolor": "white",
    "linestyle": "none",
    "label": "published",
}

# What a rank does, in a timeline: a fill and a hatch each.
ACTIVITY: dict[str, dict[str, Any]] = {
    "computing": {"facecolor": GREEN, "hatch": ""},
    "sending": {"facecolor": ORANGE, "hatch": "////"},
    "waiting": {"facecolor": "#DDDDDD", "hatch": "...."},
}

_SETTINGS: dict[str, Any] = {
    "figure.figsize": (7.0, 3.6),
    "figure.dpi": 110,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E5E5E5",
    "axes.axisbelow": True,
    "lines.linewidth": 2.0,
    "lines.markersize": 6.5,
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "course",
}


def measured(colour: str = BLUE, label: str = "measured", marker: str = "o") -> dict[str, Any]:
    """How measured points look: filled markers, no line. colour tells series apart."""
    return {**MEASURED, "color": colour, "label": label, "marker": marker}


def modelled(colour: str = RED, label: str = "modelled") -> dict[str, Any]:
    """How a model's curve looks: dashed, without markers."""
    return {**MODELLED, "color": colour, "label": label}


def published(label: str = "published") -> dict[str, Any]:
    """How published points look: white diamonds with a black edge."""
    return {**PUBLISHED, "label": label}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the course's style inside the `with`."""
    import matplotlib
    from cycler import cycler

    settings: Any = {**_SETTINGS, "axes.prop_cycle": cycler(color=CYCLE)}
    with matplotlib.rc_context(settings):
        yield


def axes(columns: int = 1, rows: int = 1, width: float = 7.0, height: float = 3.6) -> Any:
    """A new figure in the course's style: (figure, axes), as `plt.subplots` gives them.

    width, height: in inches. The figure belongs to no window, so that it shows only when asked.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(width, height))
        FigureCanvasAgg(figure)
        return figure, figure.subplots(rows, columns, subplot_kw={"axes_class": _axes_class()})


def note(
    ax: Any, words: str, at: tuple[float, float], by: tuple[float, float], **look: Any
) -> None:
    """Small words beside a point, `by` so many points of print away from it."""
    ax.annotate(words, at, by, textcoords="offset points", **{"fontsize": 9, **look})


def ticks(axis: Any, values: Iterable[float]) -> None:
    """Ticks of `ax.xaxis` or `ax.yaxis` at these values alone, as plain numbers."""
    from matplotlib.ticker import NullLocator

    axis.set_ticks(list(values), [f"{value:g}" for value in values])
    axis.set_minor_locator(NullLocator())


def rows(ax: Any, names: Sequence[str], **look: Any) -> None:
    """Names along the y axis, from the top down, for bars or points at 0, 1, 2 and so on."""
    ax.set_yticks(range(len(names)), names, **look)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(axis="y", visible=False)


def fix_layout(figure: Any, **places: float) -> None:
    """Lay a widget's figure out by hand, in half the time that matplotlib takes to find a layout.

    places: left, right, bottom, top, wspace and hspace, as `figure.subplots_adjust` takes them.
    """
    figure.set_layout_engine("none")
    grid = figure.axes[0].get_gridspec()
    grid.update(**places)  # `subplots_adjust` does nothing while there is an engine
    for ax in figure.axes:
        ax.set_position(ax.get_subplotspec().get_position(figure))


@cache
def _axes_class() -> type[Any]:
    """Axes whose titles and legends have the course's look outside `style()` too.

    matplotlib asks for these settings when a title is set, not when the axes are made.
    """
    from matplotlib.axes import Axes

    class CourseAxes(Axes):
        def set_title(
            self,
            label: str,
            fontdict: Any = None,
            loc: Any = None,
            pad: float | None = None,
            *,
            y: float | None = None,
            **look: Any,
        ) -> Any:
            look = {"fontsize": _SETTINGS["axes.titlesize"], **look}
            return super().set_title(label, fontdict, loc or "left", pad, y=y, **look)

        def get_title(self, loc: Any = "left") -> str:
            return str(super().get_title(loc))

        def legend(self, *args: Any, **look: Any) -> Any:
            return super().legend(*args, **{"frameon": False, **look})

    return CourseAxes
