"""Knobs to turn: a picture that follows its sliders and stays when the kernel is gone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from helpers.notebook.figures import display_picture, forget, png

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
    (the first one is the start), or a widget. An underscore in a name is a space in its label.
    Arrow keys move a slider. The picture is an ordinary output: it stays in the saved notebook.
    """
    import ipywidgets

    controls = {name: _control(name, spec) for name, spec in sliders.items()}
    handle = f"explore-{next(_counter)}"

    def picture(update: bool = True) -> None:
        values = {name: control.value for name, control in controls.items()}
        figure = draw(**values)
        words = alt if isinstance(alt, str) else alt(**values)
        display_picture(png(figure), words, handle, update)
        forget(figure)

    show_widget(ipywidgets.VBox(list(controls.values())))
    picture(update=False)
    for control in controls.values():
        control.observe(lambda change: picture(), names="value")


def _control(name: str, spec: Any) -> Any:
    """The widget for one keyword of `explore`."""
    import ipywidgets

    if isinstance(spec, ipywidgets.Widget):
        return spec
    label = name.replace("_", " ")
    wide = {
        "description": label,
        "style": {"description_width": "11em"},
        "layout": ipywidgets.Layout(width="min(38em, 98%)"),
    }
    if isinstance(spec, Sequence) and not isinstance(spec, str | tuple):
        if len(spec) > 1:
            return ipywidgets.SelectionSlider(options=list(spec), value=spec[0], **wide)
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
