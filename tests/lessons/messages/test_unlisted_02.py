"""Wrong answers of lesson 02 that no table lists: each with a piece of what it is told."""

from __future__ import annotations

import pytest

from tests.checks.table import patches_are_told

WRONG = {
    "02.1": """
another type
    | return batch[: cuts[1]] => return batch[: cuts[1]].double()
    rank 0's rows are float64
leaves empty slices out
    | comm.send( => cuts[rank] == cuts[rank + 1] or comm.send(
    rank 2 waits to receive from rank 0
""",
    "02.2": """
travels in float32
    | comm.send(flat, => comm.send(flat.float(),
    | comm.recv((comm.rank - have) % comm.size, into=flat)
        => flat.copy_(comm.recv((comm.rank - have) % comm.size))
    does not hold rank 2's values
for one dimension
    | comm.recv((comm.rank - have) % comm.size, into=flat) => flat.copy_(comm.recv((comm.rank -
        have) % comm.size, into=torch.zeros(len(tensor))))
    to be received into
from twice as far
    | comm.recv((comm.rank - have) % comm.size => comm.recv(comm.rank - 2 * have
    each from place − d
""",
    "02.3": """
in float32
    | right, left = => given, tensor = tensor, tensor.float(); right, left =
    | return tensor => given.copy_(tensor)
    something was float32 on the way
""",
    "02.5": """
in float32
    | buffer[start:stop] for buffer => buffer[start:stop].float() for buffer
    something was float32 on the way
""",
}


@pytest.mark.parametrize("number", WRONG)
def test_what_no_table_lists_is_told_what_was_seen(number: str) -> None:
    patches_are_told(number, WRONG[number])
