"""What a check gives back: a verdict that shows itself in a notebook and prints as text."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from helpers.checks.spec import Case, Exercise, Observation

# A sign, a word and a colour for each status: the colour is never all that tells them apart.
_LOOKS = {
    "passed": ("✓", "passed", "#009E73"),
    "wrong": ("✗", "not right yet", "#D55E00"),
    "not attempted": ("○", "open", "#7F7F7F"),
    "not run": ("!", "its cell did not run", "#D55E00"),
    "not judged": ("…", "not judged", "#7F7F7F"),
    "unknown": ("?", "no such exercise", "#7F7F7F"),
}


@dataclass(frozen=True)
class Result:
    """The outcome of `helpers.check`. As the last expression of a cell it displays itself.

    status: "passed", "wrong", "not attempted", "not run" where the function is the one of before a
    cell that failed, "not judged" where the machine was too busy to tell, or "unknown" for a number
    that no exercise has.
    hint: what to look at, or what was measured where it has passed.
    """

    number: str
    status: str
    hint: str
    exercise: Exercise | None = field(default=None, repr=False)
    cases: Sequence[Case] = field(default=(), repr=False)
    seen: Sequence[Observation] = field(default=(), repr=False)

    @property
    def passed(self) -> bool:
        """Whether every case was right."""
        return self.status == "passed"

    def __bool__(self) -> bool:
        return self.passed

    @property
    def heading(self) -> str:
        """Such as "✓ Exercise 02.1 (Scatter): passed"."""
        sign, word, _ = _LOOKS[self.status]
        title = f" ({self.exercise.title})" if self.exercise else ""
        return f"{sign} Exercise {self.number}{title}: {word}"

    @property
    def asks(self) -> str:
        """What was asked for, where the answer is wrong."""
        return self.exercise.asks if self.exercise and self.status == "wrong" else ""

    def __repr__(self) -> str:
        lines = [self.heading, self.hint]
        if self.asks:
            lines.append(f"Asked for: {self.asks}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """A box with a coloured edge; text takes the page's own colours, light or dark."""
        colour = _LOOKS[self.status][2]
        sign, _, rest = self.heading.partition(" ")
        body = [f'<strong><span aria-hidden="true">{sign}</span> {_rich(rest)}</strong>']
        body.append(_rich(self.hint).replace("\n", "<br>"))
        if self.asks:
            body.append(f"<em>Asked for:</em> {_rich(self.asks)}")
        paragraphs = "".join(f'<p style="margin:.2em 0">{part}</p>' for part in body)
        style = f"border-left:.35em solid {colour};padding:.3em .9em;margin:.4em 0"
        return f'<div role="status" style="{style}">{paragraphs}</div>'

    def figure(self) -> Any:
        """Who sent what, when, in the case that the exercise names; None where it has none."""
        if not self.passed or self.exercise is None or self.exercise.figure is None:
            return None
        from helpers.engine.trace import Trace
        from helpers.notebook.timeline import timeline

        case, seen = self.cases[self.exercise.figure], self.seen[self.exercise.figure]
        return timeline(Trace(seen.events, case.ranks, virtual=True))

    def _ipython_display_(self) -> None:
        from IPython.display import display

        bundle = {"text/plain": repr(self), "text/html": self._repr_html_()}
        display(bundle, raw=True)
        drawn = self.figure()
        if drawn is not None and self.exercise is not None and self.exercise.figure is not None:
            from helpers.notebook.figures import show

            case = self.cases[self.exercise.figure]
            said = f"{case.name}: what each rank did, on the virtual clock."
            show(drawn, caption=said, alt=f"Timeline of your {self.exercise.function}. {said}")


def _rich(text: str) -> str:
    """Escaped text with `code` marked as such."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
