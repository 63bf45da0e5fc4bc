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


class _None:
    """As it is."""

    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, Any]:
        return tensor, None

    @staticmethod
    def decompress(tensor: Tensor, context: Any) -> Tensor:
        return tensor


class _Half:
    """In 16 bits, back in the type that it had; what is no floating point stays as it is."""

    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, Any]:
        return (tensor.half() if tensor.is_floating_point() else tensor), tensor.dtype

    @staticmethod
    def decompress(tensor: Tensor, context: Any) -> Tensor:
        return tensor if context is None else tensor.to(context)


class Compression:
    """What `hvd.Compression` offers."""

    none, fp16 = _None, _Half


def travelling(compression: Any) -> Any:
    """The compression that was asked for, none where nothing was."""
    if compression is None:
        return Compression.none
    if not hasattr(compression, "compress") or not hasattr(compression, "decompress"):
        raise ValueError("compression is hvd.Compression.none or hvd.Compression.fp16.")
    return compression


class StandIn:
    """What `hvd` is to a learner's function, for torch and for TensorFlow.

    calls: what was asked for, such as "allreduce" or "broadcast", with its bytes.
    """

    Average, Sum = "average", "sum"
    Compression = Compression
    sends: type = object  # what tensors are

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self.calls: list[tuple[str, int]] = []

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
        self,
        tensor: Any,
        average: bool | None = None,
        name: str | None = None,
        op: str | None = None,
        prescale_factor: float = 1.0,
        postscale_factor: float = 1.0,
        compression: Any = None,
        **others: Any,
    ) -> Any:
        """The ranks' mean (op=Average, the default) or their sum (op=Sum), on every rank."""
        if op is None:
            op = self.Sum if average is False else self.Average
        if op not in (self.Average, self.Sum):
            raise ValueError(f"Here op is hvd.Average or hvd.Sum, not {op!r}.")
        way = travelling(compression)
        mine, context = way.compress(as_torch(tensor, self.sends).clone() * prescale_factor)
        self.calls.append(("allreduce", nbytes(mine)))
        total = self._sum(mine)
        if op == self.Average:
            total = total / self.size() if total.is_floating_point() else total // self.size()
        return as_before(way.decompress(total, context) * postscale_factor, tensor)

    def allreduce_(self, tensor: Tensor, *args: Any, **options: Any) -> Tensor:
        """As `allreduce`, in place."""
        with torch.no_grad():
            return tensor.copy_(self.allreduce(tensor, *args, **options))

    def grouped_allreduce(self, tensors: Iterable[Any], *args: Any, **options: Any) -> list[Any]:
        """Several at once."""
        return [self.allreduce(tensor, *args, **options) for tensor in tensors]

    def broadcast(self, tensor: Any, root_rank: int, name: str | None = None) -> Any:
        """Rank `root_rank`'s tensor, on every rank."""
        mine = as_torch(tensor, self.sends).clone()
        self.calls.append(("broadcast", nbytes(mine)))
        return as_before(self._from(mine, root_rank), tensor)

    def broadcast_(self, tensor: Tensor, root_rank: int, name: str | None = None) -> Tensor:
        """As `broadcast`, in place."""
        with torch.no_grad():
            return tensor.copy_(self.broadcast(tensor, root_rank))

    def broadcast_object(self, obj: Any, root_rank: int = 0, name: str | None = None) -> Any:
        """Rank `root_rank`'s object, whatever it is, on every rank."""
        if self.rank() != root_rank:
            return pickle.loads(self._from(torch.empty(0), root_rank, 0).numpy().tobytes())
        held = torch.frombuffer(bytearray(pickle.dumps(obj)), dtype=torch.uint8)
        self.calls.append(("broadcast object", nbytes(held)))
        self._from(held, root_rank, 0)
        return obj

    def allgather_object(self, obj: Any, name: str | None = None) -> list[Any]:
        """Every rank's object, in rank order, on every rank."""
        return [self.broadcast_object(obj, rank) for rank in range(self.size())]

    def allgather(self, tensor: Any, name: str | None = None) -> Any:
        """The ranks' tensors one below the other, on every rank."""
        mine = as_torch(tensor, self.sends).clone()
        parts = [self._from(mine, rank, 0) for rank in range(self.size())]
        self.calls.append(("allgather", nbytes(mine)))
        return as_before(torch.cat([torch.atleast_1d(part) for part in parts]), tensor)

    # --- torch ------------------------------------------------------------------------------------

    def broadcast_parameters(self, params: Any, root_rank: int) -> None:
        """Rank `root_rank`'s tensors, in place. params: a state dict, or a list of named ones."""
        if isinstance(params, dict):
            tensors = [tensor for _, tensor in sorted(params.items())]
        elif isinstance(params, list):
            tensors = [each[1] if isinstance(each, tuple) else each for each in params]
        else:
            kind = type(params).__name__
            raise ValueError(
                f"invalid params of type {kind}: give `model.state_dict()`, or a list of tensors."
            )
        for tensor in tensors:
            self.broadcast_(tensor, root_rank)

    def broadcast_optimizer_state(
        self, optimizer: Any, root_rank: int, model: Any | None = None
    ) -> None:
        """Rank `root_rank`'s momenta, learning rates and other options of a torch optimizer."""
        held = optimizer.state_dict()
        plan = {
            number: {key: _plan(value) for key, value in entry.items()}
            for number, entry in held["state"].items()
        }
        groups, plan = self.broadcast_object((held["param_groups"], plan), root_rank)
        state: dict[Any, dict[str, Any]] = {}
        for number, entry in plan.items():
            state[number] = {}
            for key, (value, is_tensor) in entry.items():
                if is_tensor:
                    own = held["state"].get(number, {}).get(key)
                    value = self._from(own, root_rank, 0)
                state[number][key] = value
        if self.rank() != root_rank:
            mine = optimizer.param_groups
            optimizer.load_state_dict({"state": state, "param_groups": groups})
            # The groups stay the same dicts, which an optimizer that wraps this one may share.
            for group, new in zip(mine, groups, strict=True):
                group.update({key: value for key, value in new.items() if key != "params"})
            optimizer.param_groups = mine

    def DistributedOptimizer(
        self,
        optimizer: Any,
        named_parameters: Any = None,
        compression: Any = None,
        backward_passes_per_step: int = 1,
        op: str | None = None,
        gradient_predivide_factor: float = 1.0,
        **others: Any,
    ) -> Any:
        """A torch optimizer that averages all gradients before it steps."""
        if backward_passes_per_step != 1:
            raise ValueError("Here there is one backward pass a step.")
        named = [] if named_parameters is None else list(named_parameters)
        if any(not isinstance(each, tuple) for each in named):
            raise ValueError("named_parameters should be a sequence of tuples (name, parameter).")
        return _distributed(self, optimizer, op, compression)

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
        expected = torch.tensor([-1, root, nbytes(mine) if known is None else known])
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


class OfTorch(StandIn):
    """As `horovod.torch`, which takes torch's tensors alone."""

    sends = Tensor


def _mismatched(what: str, other: int) -> ValueError:
    return ValueError(
        f"Mismatched calls: rank {other} did not come to the {what} that the root came to. "
        "All ranks make the same calls in the same order."
    )


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

    def gradient(self, target: Any, sources: Any, *args: Any, **options: Any) -> Any:
        """The ranks' gradients, averaged."""
        import tensorflow as tf

        found = self._given.gradient(target, sources, *args, **options)

        def averaged(gradient: Any) -> Any:
            return None if gradient is None else self._hvd.allreduce(gradient, **self._how)

        return tf.nest.map_structure(averaged, found)


def _distributed(hvd: StandIn, optimizer: Any, op: str | None, compression: Any) -> Any:
    """As Horovod makes it: a new optimizer of a subclass, with the groups of the one given."""
    base: Any = type(optimizer)

    def synchronize(self: Any) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    grad = hvd.allreduce(parameter.grad, op=op, compression=compression)
                    parameter.grad = grad

    def step(self: Any, closure: Any = None) -> Any:
        self.synchronize()
        return base.step(self, closure)

    kind = type(base.__name__, (base,), {"synchronize": synchronize, "step": step})
    made: Any = kind(optimizer.param_groups, lr=optimizer.param_groups[0]["lr"])
    return made


def _plan(value: Any) -> tuple[Any, bool]:
    """A value of an optimizer's state, or None for a tensor; and whether it is one."""
    is_tensor = isinstance(value, Tensor) and value.dim() > 0
    return (None if is_tensor else value), is_tensor


def as_torch(value: Any, kind: type = object) -> Tensor:
    """A tensor of torch or TensorFlow, or an array, as a torch tensor; TypeError for others, and
    for what is not of this kind."""
    if isinstance(value, Tensor):
        return value.detach()
    if not hasattr(value, "dtype") or not isinstance(value, kind):
        raise TypeError(f"hvd sends tensors, and was given a {type(value).__name__}.")
    held = value.numpy() if hasattr(value, "numpy") else value
    return torch.as_tensor(held)


def as_before(found: Tensor, given: Any) -> Any:
    """A result as the kind of tensor that was given."""
    if isinstance(given, Tensor):
        return found.to(given.dtype) if given.is_floating_point() else found
    import tensorflow as tf

    return tf.convert_to_tensor(found.numpy())


def nbytes(tensor: Tensor) -> int:
    """The bytes of what a tensor holds."""
    return tensor.numel() * tensor.element_size()
