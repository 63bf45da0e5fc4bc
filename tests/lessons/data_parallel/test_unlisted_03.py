"""Wrong answers of lesson 03 that no table lists: each with a piece of what it is told."""

from __future__ import annotations

import pytest

from tests.checks.table import patches_are_told

WRONG = {
    "03.1": """
three orders
    | manual_seed(epoch) => manual_seed(epoch % 3)
    epochs 0 and 3 have the same order
moves on by a row
    | torch.randperm(rows, generator=torch.Generator().manual_seed(epoch))
        => torch.arange(rows).roll(epoch)
    mix them anew
in eight bits
    | manual_seed(epoch)) => manual_seed(epoch)).to(torch.int8)
    rows on no rank
""",
    "03.2": """
a share in float32
    | weight = rows / total => weight = float(torch.tensor(rows / total))
    agree to seven digits
""",
    "03.3": """
always four steps
    | range(steps) => range(4)
    On 5 ranks
""",
    "03.4": """
a byte early
    | held >= limit => held >= limit - 1
    bucket 0 is [2]; it should be [2, 1]
opens where nothing is held
    | not found or held => held == 0 or held
    there is a bucket too many
fractions
    | append(number) => append(float(number))
    5.0 is no whole number
""",
    "03.5": """
looks for gradients
    | arrived[number] == len(buckets[number])
        => all(p.grad is not None for p in buckets[number])
    start a bucket once
""",
    "03.6": """
a whole number of times
    | times - 1 => int(times) - 1
    2.5 times the batch
nothing for one step
    | if warmup else => if warmup > 1 else
    1 step of warmup
""",
}


@pytest.mark.parametrize("number", WRONG)
def test_what_no_table_lists_is_told_what_was_seen(number: str) -> None:
    patches_are_told(number, WRONG[number])
