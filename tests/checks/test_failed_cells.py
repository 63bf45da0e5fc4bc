"""A cell that failed leaves the function of before: that is not taken for the cell's own."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import helpers
from helpers.checks import find
from helpers.checks.check import known_status
from helpers.grade.hidden import require
from helpers.notebook import failed_cells
from helpers.notebook.failed_cells import Cells, defined

GOOD = "def fit(sizes, seconds):\n    return inner(sizes)\n"
INNER = "def inner(sizes):\n    return 1.0, 2.0\n"


class Book:
    """Cells that run in a shell, and what is said of a name's function."""

    def __init__(self, shell: InteractiveShell, cells: Cells) -> None:
        self.shell, self.cells = shell, cells

    def run(self, *sources: str) -> None:
        for source in sources:
            self.shell.run_cell(source, store_history=True)

    def said(self, name: str = "fit") -> str:
        found = self.cells.behind(self.shell.user_ns[name], "fit")
        return found.told("fit") if found else ""


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Iterator[Book]:
    for name in ("__main__", "__mp_main__"):
        if name in sys.modules:
            monkeypatch.setitem(sys.modules, name, sys.modules[name])
    shell = InteractiveShell(config=Config(HistoryManager={"enabled": False}))
    cells = Cells(shell.user_ns)
    shell.events.register("pre_run_cell", cells.begin)
    shell.events.register("post_run_cell", cells.end)
    monkeypatch.setattr(failed_cells, "_watched", cells)
    yield Book(shell, cells)
    shell.atexit_operations()
    atexit.unregister(shell.atexit_operations)


FAILS = [
    ("def fit(sizes, seconds):\n    return (1,\n", "SyntaxError at line 2"),
    ("  def fit(sizes, seconds):\n  return 1\n", "IndentationError"),
    ("def fit(sizes, seconds:\n    return 1", "SyntaxError at line 1"),
    ("@nobody\ndef fit(sizes, seconds):\n    return 1", "NameError: name 'nobody'"),
    ("1 / 0\ndef fit(sizes, seconds):\n    return 1", "ZeroDivisionError: division by zero"),
    ("def fit(sizes, seconds=later):\n    return 1", "NameError"),
    ("%%time\n1 / 0\ndef fit(sizes, seconds):\n    return 1", "ZeroDivisionError"),
    ("%matplotlib nonsense\nfit = lambda *a: 1 / 0\n1 +", "SyntaxError"),
    ("fit = {}['x']", "KeyError"),
    ("fit = (lambda sizes: 1", "SyntaxError"),
    ("from math import nothing as fit", "ImportError"),
    ("if True:\n    def fit(a=1 / 0):\n        pass", "ZeroDivisionError"),
    ("raise KeyboardInterrupt\ndef fit():\n    pass", "it was interrupted"),
]
SAYS_NOTHING = [
    "def fit(sizes, seconds):\n    return 2\n\nfit(1, 2)[0]",  # after the definition
    "fit.cache = {}['x']",  # changes it, does not define it
    "print(fit); 1 / 0",
    "class Other:\n    def fit(self):\n        return (",
    "def other():\n    fit = 1\n    return (",
    "fit == (",
    "",
]


def test_after_a_cell_that_failed_a_function_is_the_one_of_before(book: Book) -> None:
    for cell, why in FAILS:
        book.run(INNER, GOOD)
        assert book.said() == ""
        number = book.shell.execution_count
        book.run(cell)
        assert f"should define `fit`, cell [{number}], did not run to its end" in book.said(), cell
        assert why in book.said(), cell
        book.run("print('another cell')", "1 / 0", "other = (")  # says nothing of fit
        assert f"cell [{number}]" in book.said(), cell
        book.run(GOOD)
        assert book.said() == "", cell


def test_a_cell_that_failed_says_nothing_of_what_it_did_define_or_does_not(book: Book) -> None:
    for cell in SAYS_NOTHING:
        book.run(INNER, GOOD, cell)
        assert book.said() == "", cell


def test_what_a_function_uses_counts_too(book: Book) -> None:
    book.run(
        "import functools",
        INNER,
        GOOD,
        "class Fits:\n    def __call__(self, *a):\n        return fit(*a)",
        "other = functools.partial(Fits(), 1)",
        "def inner(sizes):\n    return (",
    )
    for name in ("fit", "other"):
        assert "define `inner`, cell [6]" in book.said(name)
        assert "`fit` uses it" in book.said(name)
    book.run(INNER)
    assert book.said() == book.said("other") == ""


def test_another_name_of_the_same_function_is_another_thing(book: Book) -> None:
    book.run(INNER, GOOD, "mine = fit", "mine = 1 / 0")
    assert book.said() == ""
    book.run("fit = (")
    assert "cell [5]" in book.said("mine")


def test_a_first_cell_that_failed_defines_nothing(book: Book) -> None:
    book.run("def fit(: pass", INNER, GOOD)
    assert book.said() == "" and not book.cells.failed


def test_a_check_says_so_and_gives_no_points(
    book: Book, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("helpers.checks.check.observe_apart", lambda *never: 1 / 0)
    exercise = find("02.4")
    book.shell.user_ns["fit"] = exercise.reference
    book.run("def fit(sizes, seconds):\n    return (")
    result = helpers.check("02.4", exercise.reference)
    assert result.status == "not run" and not result.passed
    assert "! Exercise 02.4" in repr(result) and "its cell did not run" in repr(result)
    assert "cell [1]" in result.hint and "<code>fit</code>" in result._repr_html_()
    assert known_status("02.4", exercise.reference) == "not run"
    capsys.readouterr()
    assert helpers.mine_or_yours("02.4", exercise.reference) is exercise.reference
    assert "Exercise 02.4 has a cell that did not run" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="did not run to its end"):
        require("02.4", exercise.reference)


def test_outside_a_notebook_nothing_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failed_cells, "_watched", None)
    failed_cells.watch()
    assert failed_cells._watched is None and failed_cells.behind(print, "print") == ""


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a, (b, *c) = 1, (2, 3)\nfor d in x: pass\nimport e as f, g.h", set("abcdfg")),
        (
            "async def a(: pass\nclass b\n  c = 1\nd: int = (\ne == 1",
            set("abd"),
        ),
        ("await a\nb = 1", {"b"}),
        ("!ls\nx = %pwd\n?print", {"x"}),
    ],
)
def test_what_a_cell_defines(source: str, names: set[str]) -> None:
    assert defined(source) == names
