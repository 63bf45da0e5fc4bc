"""The driver of exercise 14.7, and its messages: to whom, how many bytes, when, and waited for."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode

from helpers.checks.compare import count, listing
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.requests import OPEN, Requests
from helpers.checks.spec import Case, Observation
from helpers.lessons.sharding.exercises.shared import first_changed


def not_to_the_right(case: Case, seen: Observation) -> Iterator[str]:
    """Messages to somebody else."""
    for rank, sent in enumerate(seen.sent):
        right = (rank + 1) % case.ranks
        others = sorted(set(sent) - {right})
        if others:
            yield (
                f"rank {rank} sent to rank{'s' if len(others) > 1 else ''} {listing(others)}: in a "
                f"ring it sends to its right neighbour alone, rank {right}, and holds one block "
                "that passes."
            )


def bytes_sent(case: Case, seen: Observation) -> Iterator[str]:
    """Other bytes than those of all blocks but the right neighbour's own."""
    held = [args[1].nbytes + args[2].nbytes for args in case.args]
    for rank, got in enumerate(seen.bytes):
        want = sum(held) - held[(rank + 1) % case.ranks]
        if got == want:
            continue
        begin = f"rank {rank} sent {got} B, where the blocks that it passes have {want} B"
        rounds = seen.messages[rank] / case.ranks
        if case.ranks > 1 and got == sum(held) and rounds in (1, 2):
            yield (
                f"{begin}: each block came back to the rank that it began with, which has it. "
                f"{count(case.ranks - 1, 'message')} are enough for {case.ranks} blocks."
            )
        if got == 0:
            yield f"{begin}: no key of another rank has come to anybody."
        if case.ranks == 1:
            yield f"{begin}: alone, there is nobody to send to."
        more = "is longer than keys and values take" if got > want else "is shorter than they are"
        yield f"{begin}: what travels {more}. Queries stay, and so do results."


def gathers(case: Case, seen: Observation) -> Iterator[str]:
    """All blocks are there together: nothing is computed from the first that arrives to the last,
    or none is let go; where it can be seen."""
    for rank, value in enumerate(seen.values):
        if case.ranks > 4 and value["held"]:  # of fewer, a careful pipeline may hold all
            yield (
                f"rank {rank} still held all {case.ranks - 1} blocks that arrive when the last one "
                "came: that is the whole sequence. Work on each block when it arrives, and let "
                "it go; what stays are sums."
            )
        if case.ranks > 2 and value["between"] is False and _sees_more(case, rank):
            yield (
                f"rank {rank} took in all blocks, one behind the other, and computed nothing in "
                "between: it held the whole sequence. Work on each block when it arrives, and let "
                "it go."
            )


def _sees_more(case: Case, rank: int) -> bool:
    """Whether a rank's queries see a key of each block between the first that arrives and the last:
    one of which they see none it may pass on as it is."""
    places = case.args[rank][3]
    sources = [(rank - step) % case.ranks for step in range(1, case.ranks)]
    return places is None or all(min(places[r]) <= max(places[rank]) for r in sources)


def flying(case: Case, seen: Observation) -> Iterator[str]:
    """A message's tensor changes before the message has gone."""
    for rank, value in enumerate(seen.values):
        if value["flying"]:
            yield (
                f"rank {rank} wrote into a block, or received into it, between `comm.isend` of it "
                "and `wait()`: what is on its way may change then. Compute into new tensors."
            )


def left_open(case: Case, seen: Observation) -> Iterator[str]:
    """A receive that nobody waits for, and that will take what is sent next."""
    for rank, value in enumerate(seen.values):
        if value["receiving"]:
            yield (
                f"rank {rank} began to receive and never waited: a receive is left open, and takes "
                f"the next message, whoever it was for. {count(case.ranks - 1, 'block')} arrive."
            )


def all_send(case: Case, seen: Observation) -> Iterator[str]:
    """Every rank waits until somebody receives."""
    waits = [seen.waiting.get(rank, "") for rank in range(case.ranks)]
    if seen.trouble == "deadlock" and all(each.startswith("waits to send") for each in waits):
        yield (
            "every rank waits for its right neighbour to take a message, and that one waits as "
            "well. Nobody comes to receive: start to send with `comm.isend`, receive, then "
            "`wait()`."
        )


# What only moves numbers about, or asks for their shape. Anything else is taken for computing.
_MOVES = {
    *("stack", "cat", "concat", "vstack", "hstack", "clone", "detach", "contiguous", "unbind"),
    *("chunk", "split", "__getitem__", "__setitem__", "view", "reshape", "to", "copy_", "type"),
    *("size", "__get__", "__len__", "numel", "dim", "empty_like", "zeros_like", "new_empty"),
    *("new_zeros", "is_contiguous", "transpose", "permute", "squeeze", "unsqueeze", "flatten"),
}


class _Arrivals(TorchFunctionMode):
    """A rank's receives: how many are open, and how much was computed before each that came."""

    def __init__(self, comm: Any) -> None:
        super().__init__()
        self.isend, self.irecv = comm.isend, comm.irecv
        self.open, self.work, self.at = 0, 0, list[int]()
        self.came, self.held, self.flying = list[tuple[int, StorageWeakRef]](), False, False
        comm.isend, comm.irecv = self.send, self.start

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.work += getattr(func, "__name__", "") not in _MOVES
        return func(*args, **(kwargs or {}))

    def aside(self, call: Function, *args: Any, **options: Any) -> Any:
        """`call(…)`, whose operations are no work of the answer's."""
        work = self.work
        value = call(*args, **options)
        self.work = work
        return value

    def send(self, tensor: Any, to: int) -> Any:
        """As `comm.isend`."""
        request = self.aside(self.isend, tensor, to)
        if not isinstance(tensor, Tensor):
            return request
        wait, before = request.wait, self.aside(torch.clone, tensor)

        def waited() -> Any:
            self.flying |= not self.aside(torch.equal, tensor, before)
            request.wait = wait  # or it would hold the tensor
            return wait()

        request.wait = waited
        return request

    def start(self, *args: Any, **options: Any) -> Any:
        """As `comm.irecv`."""
        request = self.aside(self.irecv, *args, **options)
        wait = request.wait
        self.open += 1

        def waited() -> Any:
            value = self.aside(wait)
            if "wait" in vars(request):
                self.open -= 1
                del request.wait  # or it would hold itself, and the tensor that came
            self.at.append(self.work)
            if not isinstance(value, Tensor):
                return value
            memory = self.aside(value.untyped_storage)
            self.came.append((memory._cdata, StorageWeakRef(memory)))
            alive = {key for key, one in self.came if not one.expired()}
            self.held = len(alive) == len(self.came)
            return value

        request.wait = waited
        return request


@Ranked
def on_sequence(
    fn: Function, comm: Any, query: Tensor, key: Tensor, value: Tensor, places: list[Tensor] | None
) -> Any:
    """`fn(comm, query, key, value, places)`.

    `values[rank]`: returned; changed, whether one of the arguments was written into; between,
    whether it computes from the first message that it gets to the last; held, whether all that had
    come were still there when the last one came, each in memory of its own; flying, whether what a
    message held was changed before it was waited for; receiving, how many receives nobody waited
    for; open, how many messages.
    """
    before, requests = [t.clone() for t in (query, key, value, *(places or []))], Requests(comm)
    with _Arrivals(comm) as arrivals:
        returned = fn(comm, query, key, value, places)
    comm.irecv, still, at = arrivals.irecv, requests.end(), arrivals.at
    between = at[-1] > at[0] if len(at) > 1 else None
    return {
        "returned": returned,
        "changed": first_changed((query, key, value, *(places or [])), before),
        "between": between,
        "held": arrivals.held,
        "flying": arrivals.flying,
        "receiving": arrivals.open,
        OPEN: still,
    }
