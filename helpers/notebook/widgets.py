"""Knobs to turn: a picture that follows its sliders and stays when the kernel is gone."""

from __future__ import annotations

import html
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from helpers.notebook.figures import display_picture, forget, png

UNITS = {
    "GB_per_s": "GB/s",
    "Gbit_per_s": "Gbit/s",
    "Mbit_per_s": "Mbit/s",
    "GB": "GB",
    "MB": "MB",
    "percent": "%",
    "min": "min",
    "ms": "ms",
    "us": "µs",
    "\u03bcs": "µs",  # in a name, Python takes the micro sign for this mu
    "s": "s",
}
"""How a keyword of `explore` may end, and the unit's sign."""

_counter = itertools.count(1)


def show_widget(widget: Any) -> None:
    """Display a widget alone: the saved notebook keeps nothing of it."""
    from IPython.display import display

    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    display({"application/vnd.jupyter.widget-view+json": view}, raw=True)


def explore(draw: Callable[..., Any], alt: str | Callable[..., str], **sliders: Any) -> None:
    """Show `draw(**values)` under one slider for each keyword, redrawn as they move.

    draw: returns a matplotlib figure (`style.axes` makes one); keep it under 0.2 s. alt: the
    picture's alt text, or a function of the same values that returns it. Each slider is
    `(low, high, start)` or `(low, high, start, step)` in whole or real numbers, a list of choices
    (the first one is the start; numbers are put in order), or a widget. A name becomes its label,
    as `label_of` says. Arrow keys move a slider. The picture is an ordinary output: it stays in
    the saved notebook. Where drawing raises, what it raised stands there until the next one: what a
    slider raises is otherwise seen by nobody.
    """
    import ipywidgets

    controls = {name: _control(name, spec) for name, spec in sliders.items()}
    handle = f"explore-{next(_counter)}"

    def picture(update: bool = True) -> None:
        values = {name: control.value for name, control in controls.items()}
        try:
            figure = draw(**values)
            words = alt if isinstance(alt, str) else alt(**values)
        except Exception as error:
            if update:
                _display_why_not(error, handle)
            raise
        display_picture(png(figure, quick=update), words, handle, update)
        forget(figure)

    show_widget(ipywidgets.VBox(list(controls.values())))
    picture(update=False)
    for control in controls.values():
        control.observe(lambda change: picture(), names="value")


def _display_why_not(error: Exception, handle: str) -> None:
    """Say in a picture's place why it cannot be drawn."""
    from IPython.display import display

    words = f"There is no picture of this. {type(error).__name__}: {error}"
    edge = "border-left:.35em solid #D55E00;padding:.3em .9em"
    page = f'<p role="status" style="{edge}">{html.escape(words)}</p>'
    bundle = {"text/plain": words, "text/html": page}
    display(bundle, display_id=handle, update=True, raw=True)


def label_of(name: str) -> str:
    """What the control of a keyword is called: `work_ms` is "work (ms)", `at_once` "at once"."""
    for unit, sign in UNITS.items():
        if name == unit:
            return sign
        if name.endswith(f"_{unit}"):
            stem = name.removesuffix(f"_{unit}").removesuffix("_in")
            return f"{stem.replace('_', ' ')} ({sign})"
    return name.replace("_", " ")


def _control(name: str, spec: Any) -> Any:
    """The widget for one keyword of `explore`."""
    import ipywidgets

    if isinstance(spec, ipywidgets.Widget):
        return spec
    label = label_of(name)
    wide = {
        "description": label,
        "style": {"description_width": "min(11em, 38%)"},
        "layout": ipywidgets.Layout(width="min(38em, 98%)"),
    }
    if isinstance(spec, Sequence) and not isinstance(spec, str | tuple):
        if len(spec) > 1:
            numbers = all(isinstance(choice, int | float) for choice in spec)
            options = sorted(spec) if numbers else list(spec)
            return ipywidgets.SelectionSlider(options=options, value=spec[0], **wide)
        raise ValueError(f"The choices of {label!r} are {spec}: give at least two.")
    if not isinstance(spec, tuple) or len(spec) not in (3, 4):
        raise ValueError(
            f"{label!r} is {spec!r}: give (low, high, start), (low, high, start, step) or a list."
        )
    low, high, start, *step = spec
    whole = all(isinstance(v, int) for v in spec)
    kind = ipywidgets.IntSlider if whole else ipywidgets.FloatSlider
    size = step[0] if step else (1 if whole else (high - low) / 50)
    return kind(value=start, min=low, max=high, step=size, **wide)
