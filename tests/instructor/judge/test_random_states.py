"""Random states where they lie in memory: read, compared, drawn from; nobody's word counts."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from submissions import as_cell, write

from helpers.checks import find
from helpers.checks.random_states import draw, here, seed_all, seeded
from helpers.instructor.judge import Judge
from helpers.instructor.sandbox import Sandbox, missing

MISSING = missing()


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = torch.get_rng_state(), np.random.get_state(), random.getstate()
    yield
    torch.set_rng_state(before[0])
    np.random.set_state(before[1])
    random.setstate(before[2])


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 40), min_size=1, max_size=3))
def test_a_state_tells_what_comes_next(seed: int, shape: list[int]) -> None:
    seed_all(seed)
    assert here() == seeded(seed)
    expected, after = draw(here()["torch"], shape)
    assert torch.equal(torch.rand(shape), expected)
    assert here()["torch"] == after != seeded(seed)["torch"]


def test_a_state_that_leads_out_of_its_words_is_refused() -> None:
    seed_all(3)
    for drawn in (0, 1, 622, 1, 1, 1):
        torch.rand(drawn)
        draw(here()["torch"], [2000])
    state = here()["torch"]
    for left, used in ((0, 625), (700, 1), (3, 2**31), (-1, 626), (1, 2), (2, 0)):
        wild = state[:8] + struct.pack("<iBxxxI", left, 1, used) + state[20:]
        with pytest.raises(ValueError, match="No generator has"):
            draw(wild, [4])


@pytest.mark.parametrize("name", ["torch", "numpy", "python"])
def test_a_state_that_was_put_back_is_the_same(name: str) -> None:
    take, put = {
        "torch": (torch.get_rng_state, torch.set_rng_state),
        "numpy": (np.random.get_state, np.random.set_state),
        "python": (random.getstate, random.setstate),
    }[name]
    use = {"torch": torch.rand, "numpy": np.random.rand, "python": lambda n: random.random()}[name]
    seed_all(4)
    use(5)
    before, states = take(), here()
    use(700)
    assert {n for n, state in here().items() if state != states[n]} == {name}
    put(before)
    assert here() == states


@pytest.mark.real
@pytest.mark.skipif(bool(MISSING), reason=MISSING or "")
def test_a_sandbox_s_process_is_read_from_outside() -> None:
    sandbox = Sandbox(207, "03")
    try:
        child = sandbox.fork()
        found = child.random_states()
        if found is None:
            pytest.skip("this machine lets nobody read another process's memory")
        assert found["torch"] == seeded(0)["torch"] and found["numpy"] == seeded(0)["numpy"]
        sandbox.end(child)
        assert child.random_states() is None
    finally:
        sandbox.stop()


# A second generator answers whatever is asked of the process, and the real one is spoilt.
SECOND = """
from helpers.checks.random_states import seeded
from helpers.worker.calls import Calls

def seed(self, message):
    Calls.told = seeded(message["seed"])
    return "return", None, []

def states(self, message):
    return "return", self.handed.tell([state.hex() for state in self.told.values()]), []

Calls.do_seed, Calls.do_states = seed, states
"""


@pytest.mark.real
@pytest.mark.thorough
@pytest.mark.skipif(bool(MISSING), reason=MISSING or "")
@pytest.mark.parametrize("number", ["03.1", "13.5"])
def test_a_second_generator_gets_no_points(number: str, tmp_path: Path) -> None:
    exercise = find(number)
    with Judge(exercise.lesson, slot=208) as judge:
        for wrong in exercise.wrong:
            cell = as_cell(exercise, wrong.function)
            path = write(tmp_path / "x.ipynb", [SECOND, cell])
            grade = judge.grade(path, "x", 77).grade
            outcome = next(each for each in grade.exercises if each.number == number)
            assert outcome.outcome != "passed", wrong.name
