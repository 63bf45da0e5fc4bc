"""Predict first, then compare: an entry for a number, and the comparison after the run."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from typing import Any

from helpers.notebook.widgets import show_widget

_made: dict[str, Prediction] = {}  # by their questions


class Prediction:
    """What a learner expects, entered before the run and compared after it.

    `guess = predict("How much quicker are two ranks?", unit="×")`: put `guess` on a cell's last
    line to show its entry, and `guess.compare(measured)` on the last line of the cell that
    measures. Works without an entry too.

    question: one sentence. unit: written behind the number, such as "×" or " ms". Where `choices`
    are given, one of these words is chosen instead. Nothing has to be entered.
    """

    def __init__(self, question: str, unit: str = "", choices: Sequence[str] | None = None) -> None:
        self.question = question
        self.unit = unit
        self.choices = list(choices) if choices else []
        self.value: float | str | None = None
        self.compared = False
        _made[question] = self

    def _ipython_display_(self) -> None:
        import ipywidgets
        from IPython.display import display

        text = f"<p><strong>Your prediction.</strong> {html.escape(self.question)}</p>"
        display({"text/plain": f"Your prediction: {self.question}", "text/html": text}, raw=True)
        common: dict[str, Any] = {
            "description": "I expect",
            "tooltip": self.question,
            "style": {"description_width": "6em"},
        }
        if self.choices:
            entry: Any = ipywidgets.Dropdown(options=["–", *self.choices], **common)
        else:
            entry = ipywidgets.Text(placeholder="a number, or nothing", **common)
        said = ipywidgets.Label(value=self.unit.strip())
        entry.observe(lambda change: self._enter(change["new"], said), names="value")
        show_widget(ipywidgets.HBox([entry, said]))

    def _enter(self, text: str, said: Any = None) -> None:
        """Take what was typed or chosen; what is not a number is answered beside the entry."""
        words = text.strip().removesuffix(self.unit.strip() or "\0").strip()
        try:
            self.value = self._read(words)
            note = self.unit.strip()
        except ValueError:
            self.value, note = None, "Type a number, such as 2 or 0.5."
        if said is not None:
            said.value = note

    def _read(self, words: str) -> float | str | None:
        if words in ("", "–"):
            return None
        if self.choices:
            return words
        return float(words.replace(",", "."))

    def compare(self, measured: float | str, what: str = "measured") -> Comparison:
        """The comparison, for the last line of the cell that measured it."""
        return Comparison(self, measured if isinstance(measured, str) else float(measured), what)

    def words(self, value: float | str) -> str:
        """A value with its unit: three significant digits below 1000, whole above."""
        if isinstance(value, str):
            return value
        number = f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
        return f"{number}{self.unit}"


class Comparison:
    """What was predicted beside what came out."""

    def __init__(self, prediction: Prediction, measured: float | str, what: str) -> None:
        self.prediction = prediction
        prediction.compared = True
        self.measured = measured
        self.what = what

    def __repr__(self) -> str:
        came = f"{self.what} {self.prediction.words(self.measured)}"
        guess = self.prediction.value
        if guess is None:
            return f"{came[0].upper()}{came[1:]}. You made no prediction: try one, and run again."
        return f"You said {self.prediction.words(guess)}; {came}{self._gap(guess)}."

    def _gap(self, guess: float | str) -> str:
        if isinstance(guess, str) or isinstance(self.measured, str):
            return "" if guess != self.measured else ", as you said"
        if guess == 0 or self.measured == 0 or guess * self.measured < 0:
            return ""
        ratio = self.measured / guess
        close = 0.8 <= ratio <= 1.25
        return ", which is close" if close else f", {ratio:.2g} times what you said"

    def _repr_html_(self) -> str:
        edge = "border-left:.35em solid #0072B2;padding:.3em .9em;margin:.4em 0"
        of = self.prediction
        held = json.dumps([of.question, of.unit, self.measured, self.what], ensure_ascii=False)
        data = f'role="status" data-measured="{html.escape(held)}"'
        return f'<div {data} style="{edge}">{html.escape(repr(self))}</div>'


def made() -> list[Prediction]:
    """The predictions that were asked for since the kernel started, each question once."""
    return list(_made.values())


def again(page: str) -> Comparison | None:
    """The comparison that an output's HTML shows, with what is predicted now; None for no such.

    The output may be one of another run: a prediction is known by its question.
    """
    found = re.search(r'<div role="status" data-measured="([^"]*)"', page)
    if found is None:
        return None
    question, unit, measured, what = json.loads(html.unescape(found[1]))
    return Comparison(_made.get(question) or Prediction(question, unit), measured, what)


predict = Prediction
