"""Wrong answers of lesson 05 that no table lists: each with a piece of what it is told."""

from __future__ import annotations

import pytest

from helpers.checks import find
from helpers.checks.table import Answers, wrong_answers
from tests.checks.table import Table

WRONG = {
    "05.1": """
held by the class
    | pushes = "weights" => pushes = "weights"; held = dict()
    | self.held: dict[int, Any] = {} => pass
    | self.held = {} => self.held.clear()
    not beside another one of its class
releases the first numbers
    | tuple(sorted(self.workers)) => tuple(range(len(self.workers)))
    workers [0, 1] were released; it should be [1, 2]
counts the workers once
    | self.held: dict[int, Any] = {} => self.held: dict[int, Any] = {}; self.n = workers
    | != len(self.workers) => != self.n
    worker 0 leaves after 3 rounds, at push 11
another type
    | mean(list(self.held.values())) => mean(list(self.held.values())).double()
    weights are float64; those pushed are float32
empties what it holds but twice
    | self.held = {} => self.held = {} if self.version < 3 else self.held
    worker 0 leaves after 3 rounds, at push 1
releases a number
    | Decision(tuple(sorted(self.workers))) => Decision(len(self.workers))
    `release` is 3
puts the first push aside
    | != len(self.workers) => != max(2, len(self.workers))
    or is not asked at that push
""",
    "05.2": """
answers before the next receive
    | weights = weights - rate * comm.recv(worker) =>
        step and comm.send(answer[worker], worker);
        answer = {**(answer if step or worker > 1 else {}), worker: weights - rate *
        comm.recv(worker)}; weights = answer[worker]
    | step < steps - 1 => False
    rank 0 answered rank 1 when 2 pushes had come in, not 1
receives a whole step
    | for step in range(steps) => for step, came in ((s, [comm.recv(w) for w in
        range(1, comm.size)]) for s in range(steps))
    | rate * comm.recv(worker) => rate * came[worker - 1]
    rank 0 answered rank 1 when 2 pushes had come in, not 1
in place for a while
    | weights = weights - rate * comm.recv(worker)
        => old = weights.clone(); weights -= rate * comm.recv(worker); new = weights.clone();
        weights.copy_(old); weights = new
    belongs to the caller
four steps
    | for _ in range(steps) => for _ in range(4)
    | for step in range(steps) => for step in range(4)
    | step < steps - 1 => step < 3
    On 2 ranks with 1 step, rank 1 asked for 4 gradients; it should be 1
an answer too many
    | comm.send(gradient(comm.recv(0)), 0)
        => pulled = comm.recv(0) if _ == 0 else pulled; comm.send(gradient(pulled), 0);
        pulled = comm.recv(0)
    | step < steps - 1 => True
    rank 0 sent rank 1 5 messages; it should be 4
a push too few
    | for _ in range(steps) => for _ in range(1, steps)
    a worker makes 4 pushes
from the last to the first
    | for worker in range(1, comm.size) => for worker in range(comm.size - 1, 0, -1)
    the weights that rank 0 sent rank 1 as number 2 are
no rate
    | rate * comm.recv => comm.recv
    the weights that rank 0 sent rank 1 as number 2 are
computes elsewhere
    | gradient(comm.recv(0)) => gradient(comm.recv(0) + 1)
    rank 1 asked for gradients at other weights than it was sent
a list
    | return weights => return weights.tolist()
    which is no tensor
""",
    "05.3": """
alone
    | return min => return 1 / compute if workers == 1 else min
    With 1 worker
""",
    "05.4": """
no bytes, no turn
    | places[tensor] = held.index(min(held))
        => places[tensor] = held.index(min(held)) if sizes[tensor] else 0
    With [0, 30, 0, 20, 0] on 4 servers
rounded sums
    | held[places[tensor]] += sizes[tensor]
        => held[places[tensor]] += int(round(sizes[tensor], -3)) or sizes[tensor]
    With [3000000008,
the one that was filled longest ago
    | held, places = [0] * servers, [0] * len(sizes)
        => held, places = [0] * servers, [0] * len(sizes); order = [*range(servers)]
    | places[tensor] = held.index(min(held))
        => places[tensor] = min(order, key=held.__getitem__);
        order.remove(places[tensor]); order.append(places[tensor])
    Tensor 2 goes to server 0, not 1
""",
    "05.5": """
counts its steps as versions
    | self.steps += 1 => self.steps += 1; self.version += 1
    the weights were pulled as 0
a zero is nothing
    | if self.steps % self.n_push => if self.steps % self.n_push or not self.accrued.any()
    after step 5, `computed` returned None, but a push is due
another type
    | self.accrued = gradient if => self.accrued = gradient.double() if
    the type of the push is float64
""",
    "05.6": """
begins at version 0
    | self.start if self._squares is None => self.start if version == 0
    from version 3 on, TypeError
the rate in it
    | self.start if => self.rate * self.start if
    the new weights are not as asked
another type
    | return weights - => return weights.double() -
    the new weights are float64; the old ones are float32
""",
}


@pytest.mark.parametrize("number", WRONG)
def test_what_no_table_lists_is_told_what_was_seen(number: str) -> None:
    base = find(number).wrong
    assert isinstance(base, Answers)
    table = Table(find(number))
    for answer in wrong_answers(number, WRONG[number], base.base):
        found = table.verdict(answer.function)
        assert found.status == "wrong" and str(answer.says) in found.hint, (answer.name, found)
