"""Stands for Horovod in checks: its calls, by real messages over a comm.

A check runs on the virtual clock and the grader's in a sandbox, where Horovod's own world cannot be
up. The tensors, models and optimizers are torch's and TensorFlow's own. Every call is made by all
ranks, in one order; a sum goes through rank 0, which sends (N − 1) tensors and receives as many.
Before a broadcast each rank tells the root what it expects, in 24 bytes: that replaces Horovod's
negotiation, and finds out where the ranks do not call the same.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

_ON_A_MACHINE = 2  # ranks


class Compression:
    """How tensors travel: as they are, or floating-point numbers in 16 bits."""

    none, fp16 = "none", "fp16"


class StandIn:
    """What `hvd` is to a learner's function, for torch and for TensorFlow."""

    Average, Sum = "average", "sum"
    Compression = Compression
    sends: type = object  # what tensors are

    def __init__(self, comm: Any) -> None:
        self._comm = comm

    def __getattr__(self, name: str) -> Any:
        said = f"the check's Horovod has no {name}; the exercise does not need it"
        raise AttributeError(said)

    def init(self) -> None:
        """Nothing: the ranks are up."""

    def is_initialized(self) -> bool:
        """Whether `init` has been called."""
        return True

    def rank(self) -> int:
        """This rank."""
        return int(self._comm.rank)

    def size(self) -> int:
        """The number of ranks."""
        return int(self._comm.size)

    def local_rank(self) -> int:
        """This rank's number on its machine: two ranks share one, as on a small cluster."""
        return self.rank() % _ON_A_MACHINE

    def local_size(self) -> int:
        """The ranks on this rank's machine."""
        return min(_ON_A_MACHINE, self.size() - self.rank() + self.local_rank())

    # --- tensors ----------------------------------------------------------------------------------

    def allreduce(
        self, tensor: Any, average: Any = None, name: Any = None, op: Any = None, **how: Any
    ) -> Any:
        """The ranks' mean (op=Average, the default) or their sum (op=Sum), on every rank.

        how: compression, prescale_factor and postscale_factor, as Horovod has them.
        """
        op = op or (self.Sum if average is False else self.Average)
        if op not in (self.Average, self.Sum):
            raise ValueError(f"Here op is hvd.Average or hvd.Sum, not {op!r}.")
        if how.get("compression") not in (None, Compression.none, Compression.fp16):
            raise ValueError("compression is hvd.Compression.none or hvd.Compression.fp16.")
        mine = self._as_torch(tensor)
        whole = not mine.is_floating_point() and mine.dtype != torch.bool
        if op != self.Sum or not whole or any("scale" in each for each in how):
            mine = mine * how.get("prescale_factor", 1.0)  # floats; a sum of integers is exact
        kind = mine.dtype
        half = how.get("compression") == Compression.fp16 and kind.is_floating_point
        total = self._sum(mine.half() if half else mine)
        if op == self.Average:
            total = total / self.size()
        total = total.to(kind)
        scale = how.get("postscale_factor")
        return _as_before(total if scale is None else total * scale, tensor)

    def allreduce_(self, tensor: Tensor, *args: Any, **options: Any) -> Tensor:
        """As `allreduce`, in place."""
        with torch.no_grad():
            return tensor.copy_(self.allreduce(tensor, *args, **options))

    def grouped_allreduce(self, tensors: Iterable[Any], *args: Any, **options: Any) -> list[Any]:
        """Several at once."""
        return [self.allreduce(tensor, *args, **options) for tensor in tensors]

    def broadcast(self, tensor: Any, root_rank: int, name: str | None = None) -> Any:
        """Rank `root_rank`'s tensor, on every rank."""
        return _as_before(self._from(self._as_torch(tensor).clone(), root_rank), tensor)

    def broadcast_(self, tensor: Tensor, root_rank: int, name: str | None = None) -> Tensor:
        """As `broadcast`, in place."""
        with torch.no_grad():
            return tensor.copy_(self.broadcast(tensor, root_rank))

    def broadcast_object(self, obj: Any, root_rank: int = 0, name: str | None = None) -> Any:
        """Rank `root_rank`'s object, whatever it is, on every rank."""
        if self.rank() != root_rank:
            return pickle.loads(self._from(torch.empty(0), root_rank, 0).numpy().tobytes())
        self._from(torch.frombuffer(bytearray(pickle.dumps(obj)), dtype=torch.uint8), root_rank, 0)
        return obj

    def allgather_object(self, obj: Any, name: str | None = None) -> list[Any]:
        """Every rank's object, in rank order, on every rank."""
        return [self.broadcast_object(obj, rank) for rank in range(self.size())]

    def allgather(self, tensor: Any, name: str | None = None) -> Any:
        """The ranks' tensors one below the other, on every rank."""
        mine = self._as_torch(tensor).clone()
        parts = [torch.atleast_1d(self._from(mine, rank, 0)) for rank in range(self.size())]
        return _as_before(torch.cat(parts), tensor)

    # --- torch ------------------------------------------------------------------------------------

    def broadcast_parameters(self, params: Any, root_rank: int) -> None:
        """Rank `root_rank`'s tensors, in place. params: a state dict, or a list of named ones."""
        if not isinstance(params, dict | list):
            kind = type(params).__name__
            raise ValueError(
                f"invalid params of type {kind}: give `model.state_dict()`, or a list of tensors."
            )
        for each in sorted(params.items()) if isinstance(params, dict) else params:
            self.broadcast_(each[1] if isinstance(each, tuple) else each, root_rank)

    def broadcast_optimizer_state(self, optimizer: Any, root_rank: int, model: Any = None) -> None:
        """Rank `root_rank`'s momenta, learning rates and other options of a torch optimizer."""
        held = self.broadcast_object(optimizer.state_dict(), root_rank)
        if self.rank() != root_rank:
            mine = optimizer.param_groups
            optimizer.load_state_dict(held)
            # The groups stay the same dicts, which an optimizer that wraps this one may share.
            for group, new in zip(mine, held["param_groups"], strict=True):
                group.update({key: value for key, value in new.items() if key != "params"})
            optimizer.param_groups = mine

    def DistributedOptimizer(
        self,
        optimizer: Any,
        named_parameters: Any = None,
        compression: Any = None,
        backward_passes_per_step: int = 1,
        op: str | None = None,
        **others: Any,
    ) -> Any:
        """A torch optimizer that averages all gradients before it steps.

        As Horovod makes it: a new one of a subclass, with the groups of the one given.
        """
        if backward_passes_per_step != 1:
            raise ValueError("Here there is one backward pass a step.")
        if any(not isinstance(each, tuple) for each in named_parameters or ()):
            raise ValueError("named_parameters should be a sequence of tuples (name, parameter).")
        base: Any = type(optimizer)

        def synchronize(own: Any) -> None:
            for parameter in (p for group in own.param_groups for p in group["params"]):
                if parameter.grad is not None:
                    parameter.grad = self.allreduce(parameter.grad, op=op, compression=compression)

        def step(own: Any, closure: Any = None) -> Any:
            own.synchronize()
            return base.step(own, closure)

        kind: Any = type(base.__name__, (base,), {"synchronize": synchronize, "step": step})
        return kind(optimizer.param_groups, lr=optimizer.param_groups[0]["lr"])

    # --- TensorFlow -------------------------------------------------------------------------------

    def broadcast_variables(self, variables: Any, root_rank: int) -> None:
        """Rank `root_rank`'s values, in place."""
        for variable in variables() if callable(variables) else variables:
            variable.assign(self.broadcast(variable, root_rank))

    def DistributedGradientTape(
        self, gradtape: Any, op: str | None = None, compression: Any = None, **others: Any
    ) -> Any:
        """A gradient tape whose gradients are the ranks' mean."""
        return _Tape(self, gradtape, {"op": op, "compression": compression})

    # --- messages ---------------------------------------------------------------------------------

    def _sum(self, mine: Tensor) -> Tensor:
        if self.rank():
            self._comm.send(mine, 0)
            return self._comm.recv(0)
        for other in range(1, self.size()):
            came = self._comm.recv(other)
            if came.shape != mine.shape or came.dtype != mine.dtype:
                raise _mismatched("allreduce", other)
            mine = mine + came
        for other in range(1, self.size()):
            self._comm.send(mine, other)
        return mine

    def _from(self, mine: Tensor, root: int, known: int | None = None) -> Tensor:
        """Rank `root`'s tensor. known: its bytes as all know them, 0 where only the root does."""
        expected = torch.tensor([-1, root, mine.nbytes if known is None else known])
        if self.rank() != root:
            self._comm.send(expected, root)
            return self._comm.recv(root)
        others = [other for other in range(self.size()) if other != root]
        for other in others:
            came = self._comm.recv(other)
            if came.dtype != torch.int64 or not torch.equal(came, expected):
                raise _mismatched("broadcast", other)
        for other in others:
            self._comm.send(mine, other)
        return mine

    def _as_torch(self, value: Any) -> Tensor:
        """A tensor of torch or TensorFlow, or an array, as torch's; TypeError for others."""
        if isinstance(value, Tensor):
            return value.detach()
        if not hasattr(value, "dtype") or not isinstance(value, self.sends):
            raise TypeError(f"hvd sends tensors, and was given a {type(value).__name__}.")
        return torch.as_tensor(value.numpy() if hasattr(value, "numpy") else value)


class OfTorch(StandIn):
    """As `horovod.torch`, which takes torch's tensors alone."""

    sends = Tensor


class _Tape:
    """Records as the tape that it is given; all else that one can do, too."""

    def __init__(self, hvd: StandIn, tape: Any, how: dict[str, Any]) -> None:
        self._hvd, self._given, self._how = hvd, tape, how

    def __enter__(self) -> _Tape:
        self._given.__enter__()
        return self

    def __exit__(self, *how: Any) -> None:
        self._given.__exit__(*how)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._given, name)

    def gradient(self, *args: Any, **options: Any) -> Any:
        """The ranks' gradients, averaged."""
        import tensorflow as tf

        def averaged(gradient: Any) -> Any:
            return None if gradient is None else self._hvd.allreduce(gradient, **self._how)

        return tf.nest.map_structure(averaged, self._given.gradient(*args, **options))


def _as_before(found: Tensor, given: Any) -> Any:
    """A result as the kind of tensor that was given."""
    if isinstance(given, Tensor):
        return found.to(given.dtype) if given.is_floating_point() else found
    import tensorflow as tf

    return tf.convert_to_tensor(found.numpy())


def _mismatched(what: str, other: int) -> ValueError:
    return ValueError(
        f"Mismatched calls: rank {other} did not come to the {what} that the root came to. "
        "All ranks make the same calls in the same order."
    )
