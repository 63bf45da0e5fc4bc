"""Answers that are made in every way that Python has: found, and told from open ones."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from helpers.grade.worker.submission import NO_FUNCTION, Submission, own_names

INNER = "FACTOR = 2\n\n\ndef inner(a, b):\n    return FACTOR * a + b"
STUB = (
    'def fit(a, b):\n    """A line."""\n'
    '    raise NotImplementedError("Exercise 02.4 is not done yet")'
)
DEMO = "demo = fit(1, 1)\nraise SystemExit('a demonstration was run')"


class Ran:
    """What became of `fit` and `other` in a notebook of these cells."""

    def __init__(self, sources: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
        self.steps: list[tuple[int, int]] = []
        self.names = own_names()
        submission = Submission(
            self.names, ["fit", "other"], set(), lambda *at: self.steps.append(at)
        )
        self.state = submission.run(sources)["fit"]

    @property
    def value(self) -> Any:
        return self.names["fit"](3, 1)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda *sources: Ran(list(sources), monkeypatch)


WAYS: dict[str, str | tuple[str, ...]] = {
    "type": "fit = type('Fit', (), {'__call__': lambda self, a, b: inner(a, b)})()",
    "global in a function": "def install():\n    global fit\n    fit = inner\n\n\ninstall()",
    "a lambda": "fit = lambda a, b: inner(a, b)",
    "partial": "import functools\nfit = functools.partial(inner)",
    "a class": (
        "class Fit:\n    def __call__(self, a, b):\n        return inner(a, b)\n\n\nfit = Fit()"
    ),
    "a method": (
        "class Fit:\n    def fit(self, a, b):\n        return inner(a, b)\n\n\nfit = Fit().fit"
    ),
    "a wrapped one": (
        "import functools\n\n\ndef same(f):\n    @functools.wraps(f)\n    def g(*args):\n"
        "        return f(*args)\n    return g\n\n\n@same\ndef fit(a, b):\n    return inner(a, b)"
    ),
    "under a condition": "if FACTOR == 2:\n    def fit(a, b):\n        return inner(a, b)",
    "after an exception": (
        "try:\n    from nowhere import fit\nexcept ImportError:\n    def fit(a, b):\n"
        "        return inner(a, b)"
    ),
    "in a loop": "for fit in [inner]:\n    pass",
    "a walrus": "print(fit := inner)",
    "a tuple": "fit, more = inner, 3",
    "its own code": "def fit(a, b):\n    pass\n\n\nfit.__code__ = inner.__code__",
    "a timed line": "%time fit = inner",
    "a timed cell": "%%time\nfit = inner",
    "a module that a cell writes": (
        "%%writefile mine.py\ndef answer(a, b):\n    return 2 * a + b",
        "from mine import answer as fit",
    ),
    "a star import of one": (
        "%%writefile of_two.py\nfrom other_one import factor\n\n\ndef fit(a, b):\n"
        "    return factor * a + b",
        "%%writefile other_one.py\n",
        "%%writefile -a other_one.py\nfactor = 2",
        "from of_two import *",
    ),
    "an annotation": "from collections.abc import Callable\nfit: Callable = inner",
    "a class that binds the name that it reads": (
        "class Holds:\n    inner = staticmethod(inner)\n\n\nfit = Holds.inner"
    ),
}


@pytest.mark.parametrize("stub", ["none", "before", "after"])
def test_an_answer_is_found_however_it_is_made(ran: Any, stub: str) -> None:
    for way, made in WAYS.items():
        sources = [INNER, *([made] if isinstance(made, str) else made), DEMO]
        if stub != "none":
            sources.insert(0 if stub == "before" else -1, STUB)
        found = ran(*sources)
        assert (found.state, found.value) == ("there", 7), way
        assert (sources.index(DEMO), 1) not in found.steps, way


@pytest.mark.parametrize("way", ["a method", "global in a function"])
def test_what_is_needed_may_stand_anywhere(ran: Any, way: str) -> None:
    first, *rest = str(WAYS[way]).split("\n\n\n")
    assert ran(DEMO, first, INNER, *rest).value == 7


@pytest.mark.parametrize(
    ("later", "value"),
    [
        ("def fit(a, b):\n    return 0", 0),
        ("if False:\n    def fit(a, b):\n        return 0", 7),
        ("print('fit')", 7),
    ],
)
def test_the_last_one_counts(ran: Any, later: str, value: int) -> None:
    for way in ("a lambda", "a class"):
        assert ran(INNER, WAYS[way], later).value == value


@pytest.mark.parametrize(
    "source",
    [
        "fit.tried = 1",
        "if False:\n    def fit(a, b):\n        return 0",
        "from math import *",
        "def install():\n    global fit\n    fit = 1",
        "setattr(inner, 'fit', 3)",
    ],
)
def test_an_open_exercise_stays_open(ran: Any, source: str) -> None:
    assert ran(INNER, STUB, source).state == "open"
    assert ran(STUB, source, INNER).state == "open"
    if ".tried" not in source:
        assert ran(INNER, source, STUB).state == "open"


def test_a_class_of_which_a_method_is_open_does_not_count_beside_an_answer(ran: Any) -> None:
    stub = (
        "class fit:\n    def __init__(self, a, b):\n        self.a = a\n\n    def value(self):\n"
        "        raise NotImplementedError('Exercise 02.4 is not done yet')"
    )
    answer = stub.replace("raise NotImplementedError('Exercise 02.4 is not done yet')", "return 7")
    for sources in ((stub, answer), (answer, stub), (stub, answer, stub, stub)):
        assert ran(*sources).value.value() == 7
    alone = ran(stub, stub)
    assert alone.state == "there"  # a call finds it open
    with pytest.raises(NotImplementedError):
        alone.value.value()
    assert ran(stub, answer.replace("class", "@nothing\nclass")).state[0] == "NameError"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("fit = {}['x']", "KeyError"),
        ("fit = lambda a: (", "SyntaxError"),
        ("fit = 3", NO_FUNCTION),
        ("fit = None", NO_FUNCTION),
        ("@nothing\ndef fit(a, b):\n    return 1", "NameError"),
    ],
)
def test_an_answer_that_is_there_and_fails_is_not_called_missing(
    ran: Any, source: str, said: str
) -> None:
    found = ran(INNER, source)
    assert found.state[0] == said and found.state[2] == 1
    if said != NO_FUNCTION:
        assert ran(INNER, STUB, source).state[0] == said


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("@nothing\ndef fit(a, b):\n    return 1", 1),
        ("import os\n\n\ndef fit(a, b=(\n    os.gone)):\n    pass", 5),
        ("fit = (1 +\n  inner(1, 'a')\n)", 2),
        ("def make():\n    raise KeyError\n\n\nfit = make()", 2),
        ("fit = 3", 1),
        ("x = 1\ndef fit(a:\n    pass", 2),
    ],
)
def test_a_fault_is_told_at_the_line_that_raised(ran: Any, source: str, line: int) -> None:
    assert ran(INNER, source).state[2:] == [1, line]


@pytest.mark.parametrize(
    "demo",
    [
        "def slow():\n    return sum(globals()['inner'](1, 2) for _ in range(3))\nslow()",
        "print('{demo}'.format(**locals()))",
        "import timeit\ntimeit.timeit('fit(1, 1)', globals=globals())",
        "if 'inner' not in globals():\n    raise SystemExit",
        "print(len(globals()), [name for name in globals()], sorted(vars()))",
        "settings = {}\nvars(settings)\nsetattr(settings, 'x', 1)",
        "get_ipython().run_line_magic('matplotlib', 'inline')",
        "result = eval('1 + 1')",
        "space = {}\nexec('x = 1', space)",
        "import sys\nprint(sys.modules['math'])",
    ],
)
def test_a_demonstration_that_only_looks_is_not_run(ran: Any, demo: str) -> None:
    found = ran(INNER, "def fit(a, b):\n    return inner(a, b)", demo)
    assert {cell for cell, index in found.steps if index >= 0} == {0, 1}
