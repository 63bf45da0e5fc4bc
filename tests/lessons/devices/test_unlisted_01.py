"""Wrong answers of lesson 01 that no table lists: each with a piece of what it is told."""

from __future__ import annotations

import pytest

from tests.checks.table import patches_are_told

WRONG = {
    "01.1": """
in 32 bits
    | return parameters => parameters %= 2**32; return parameters
    you gave 2,105,192,704 bytes of parameters
""",
    "01.2": """
the last kernel first
    | device[:3] != "GPU" => kernels[::-1].index(device[:3])
    kernels for GPU and CPU) goes to GPU:0; you gave CPU:0
the last GPU
    | usable.sort( => usable = usable[::-1] if "GPU" in kernels else usable; usable.sort(
    Of several devices of a kind
uses up the ops
    | variable in ops: => variable in [ops.pop(0) for _ in list(ops)]:
    `ops` is another list afterwards
""",
    "01.3": """
fractions
    | return sorted => return list(map(float, sorted
    | branches[i][0]) => branches[i][0])))
    branches have whole numbers
""",
    "01.4": """
rounds
    | weight.read_value() => tf.round(weight.read_value())
    the log holds [0, -300, 0]
""",
}


@pytest.mark.parametrize("number", WRONG)
def test_what_no_table_lists_is_told_what_was_seen(number: str) -> None:
    patches_are_told(number, WRONG[number])
