"""Each widget of a lesson moved by the keyboard, and each prediction entered by it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from walk_lab import NOTEBOOK, Lesson, said

REDRAWN = 15.0  # seconds that a picture may take to follow, on a busy machine
STEPS = 12  # of a control, until its picture is another one
TABS = 4  # a slider's number takes one, too
# JupyterLab takes an arrow for itself where a list is closed: it leads to another cell.
KEYS = {"slider": ["ArrowRight"], "select": ["Space", "ArrowDown", "Enter"], "button": ["Space"]}
LATE = 2000  # milliseconds, for the number of a slider that has moved
OPENED = 200  # milliseconds, for a list that opens
NO_PICTURE = "There is no picture of this"  # a redraw raised
NO_PREDICTION = "You made no prediction"

# A slider with choices is none of .jupyter-widgets by itself, only the box around it is.
WIDGET = ".widget-inline-hbox, .jupyter-widgets"
# From now on, note when a key went down, and when the kernel then sent something to show.
WATCH = f"""() => {{
    {NOTEBOOK}
    window.walk = {{pressed: 0, shown: [], errors: []}};
    document.addEventListener('keydown', () => window.walk.pressed = performance.now(), true);
    panel.sessionContext.session.kernel.iopubMessage.connect((_, message) => {{
        const {{header, content}} = message;
        const drawn = content.data?.method === 'update' && content.data.state.value;
        if (header.msg_type === 'error' || content.name === 'stderr')
            window.walk.errors.push(content.evalue ?? content.text);
        else if (['update_display_data', 'display_data', 'stream'].includes(header.msg_type)
                 || typeof drawn === 'string')  // a widget's text or drawing
            window.walk.shown.push(performance.now());
    }});
}}"""
ERRORS = "() => window.walk.errors"
FORGET = "() => { window.walk.shown = []; }"
SHOWN = "() => window.walk.shown.length > 0"
ACTIVE = "() => document.activeElement?.outerHTML.slice(0, 200)"
TOOK = "() => window.walk.shown[0] - window.walk.pressed"
# The controls of a cell's output, each marked so that it can be found; what they are, in order.
CONTROLS = f"""id => {{
    {NOTEBOOK}
    const cell = notebook.widgets.find(cell => cell.model.id === id).node;
    cell.setAttribute('data-walk', id);
    const kinds = ['.noUi-handle', 'select', 'input', 'button'];
    const found = cell.querySelectorAll(`.jupyter-widgets :is(${{kinds}})`);
    return [...found].map((control, n) => {{
        control.setAttribute('data-walk', `${{id}}-${{n}}`);
        const kind = control.matches('.noUi-handle') ? 'slider' : control.localName;
        const label = control.closest('{WIDGET}').querySelector('.widget-label');
        return {{kind, name: `${{id}}-${{n}}`, label: label?.textContent ?? control.textContent}};
    }});
}}"""
DRAWN = """id => [...document.querySelectorAll(`[data-walk="${id}"] .widget-html-content`)]
    .map(drawn => drawn.innerHTML)"""
# A slider's own number is rounded, the one beside it is not.
VALUE = f"""control => {{
    const number = control.closest('{WIDGET}').querySelector('.widget-readout');
    return (number ?? control).textContent || control.value;
}}"""


@dataclass(frozen=True)
class Control:
    """A slider, select, text entry or button in a cell's output."""

    cell: str
    kind: str
    name: str
    label: str

    def on(self, page: Any) -> Any:
        return page.locator(f'[data-walk="{self.name}"]')


@dataclass(frozen=True)
class Moved:
    """A control that was moved. milliseconds: from the last key until its new picture was there."""

    control: Control
    steps: int
    milliseconds: float


def controls(lesson: Lesson, cell: str) -> list[Control]:
    """What can be moved in a cell's output, in order."""
    found = lesson.page.evaluate(CONTROLS, cell)
    return [Control(cell, one["kind"], one["name"], one["label"]) for one in found]


def move_all(lesson: Lesson, cell: dict[str, Any]) -> list[Moved]:
    """Move each control under a cell; from one to the next leads Tab."""
    lesson.show(cell["id"])
    moved: list[Moved] = []
    for control in controls(lesson, cell["id"]):
        reach(lesson, control, first=not moved)
        moved.append(move(lesson, control))
    return moved


def reach(lesson: Lesson, control: Control, first: bool) -> None:
    """Put the focus on a control: the first by force, each other one by Tab."""
    if first:
        control.on(lesson.page).focus()
    for _ in range(TABS):
        if focused(lesson.page, control):
            return
        lesson.page.keyboard.press("Tab")
    raise AssertionError(f"{control}: Tab does not lead to it")


def move(lesson: Lesson, control: Control) -> Moved:
    """Move a control step by step until its picture is another one; back where it is at its end.

    A step may leave the picture as it is, and then nothing comes; JupyterLab may take the focus
    away while it is busy, and then the step is made again.
    """
    page, keys = lesson.page, KEYS[control.kind]
    before, value = pictures(lesson, control.cell), control.on(page).evaluate(VALUE)
    for steps in range(1, STEPS + 1):
        page.evaluate(FORGET)
        if not focused(page, control):
            control.on(page).focus()
        step(page, keys)
        if control.kind == "slider" and steps == 1 and stays(page, control, value):
            keys = ["ArrowLeft"]
            step(page, keys)
        if not follows(page):
            continue
        took = page.evaluate(TOOK)
        page.wait_for_timeout(50)
        now = pictures(lesson, control.cell)
        assert NO_PICTURE not in str(now), now
        if now != before:
            assert page.evaluate(ERRORS) == []
            return Moved(control, steps, took)
    ended, active = control.on(page).evaluate(VALUE), page.evaluate(ACTIVE)
    raise AssertionError(
        f"{control}: after {STEPS} steps the picture is the one of before; "
        f"it was at {value!r} and is at {ended!r}; the focus is on {active}"
    )


def follows(page: Any) -> bool:
    """Whether something was shown after the last key, within the time there is, and no error."""
    until = time.monotonic() + REDRAWN
    while not page.evaluate(SHOWN):
        assert page.evaluate(ERRORS) == []
        if time.monotonic() > until:
            return False
        page.wait_for_timeout(20)
    return True


def focused(page: Any, control: Control) -> bool:
    return bool(control.on(page).evaluate("control => control === document.activeElement"))


def stays(page: Any, control: Control, value: str) -> bool:
    """Whether a slider is where it was, a while after a key: its number may follow late."""
    for _ in range(LATE // 50):
        if control.on(page).evaluate(VALUE) != value:
            return False
        page.wait_for_timeout(50)
    return True


def step(page: Any, keys: Sequence[str]) -> None:
    """Press the keys that move a control by one."""
    for n, key in enumerate(keys):
        page.wait_for_timeout(OPENED if n else 0)
        page.keyboard.press(key)


def pictures(lesson: Lesson, cell: str) -> list[Any]:
    """What a cell shows besides its controls."""
    outputs = lesson.cell(cell)["outputs"]
    view = "application/vnd.jupyter.widget-view+json"
    shown = [o.get("text", o.get("data")) for o in outputs if view not in o.get("data", {})]
    return [*shown, *lesson.page.evaluate(DRAWN, cell)]


def predict(lesson: Lesson, cell: dict[str, Any]) -> int:
    """Enter something in each prediction of a cell; returns how many there are."""
    lesson.show(cell["id"])
    found = controls(lesson, cell["id"])
    for control in found:
        entry = control.on(lesson.page)
        reach(lesson, control, first=control is found[0])
        step(lesson.page, KEYS.get(control.kind, ["2"]))
        value = entry.evaluate("control => control.selectedOptions?.[0].text ?? control.value")
        assert value not in ("", "–"), f"{control} took nothing"
    return len(found)


def compare(lesson: Lesson, limit: float) -> int:
    """Enter every prediction and run what compares them again; returns how many there are."""
    cells = lesson.cells()
    entered = sum(predict(lesson, cell) for cell in cells if "Your prediction:" in said(cell))
    for cell in cells:
        if NO_PREDICTION in said(cell):
            told = lesson.run(cell["id"], limit)
            assert "You said " in told and NO_PREDICTION not in told, (cell["id"], told)
    return entered
