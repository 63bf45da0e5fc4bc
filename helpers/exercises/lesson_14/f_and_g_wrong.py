"""The reference of exercise 14.2, and pairs of functions with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(comm: Any) -> Any:
    """The course's own."""
    from functools import partial

    from helpers.algorithms.splitting.tensor_parallel import copy_to_ranks, sum_over_ranks

    return partial(copy_to_ranks, comm), partial(sum_over_ranks, comm)


def _pair(comm: Any, f: str, f_back: str, g: str, g_back: str, *, copies: str = "fgb") -> Any:
    """Two functions that "keep", "sum" or average ("mean"), forward and backward.

    copies: which sum into a copy: "f" the backward of f, "g" g, "b" the backward of g.
    """
    import torch

    from helpers.algorithms.messages.collectives import all_reduce_ring

    def change(tensor: Any, how: str, copy: bool) -> Any:
        if how == "keep":
            return tensor.view_as(tensor)
        total = all_reduce_ring(comm, tensor.clone() if copy else tensor)
        return total / comm.size if how == "mean" else total

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return change(x, f, True)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return change(gradients[0], f_back, "f" in copies)

    class G(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return change(x, g, "g" in copies)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return change(gradients[0], g_back, "b" in copies)

    return F.apply, G.apply


def plain_copies(comm: Any) -> Any:
    """Sums plain copies."""
    return _pair(comm, "keep", "sum", "sum", "keep")


def no_sum_backward(comm: Any) -> Any:
    """f is nothing at all."""
    return lambda x: x, _pair(comm, "keep", "sum", "sum", "keep")[1]


def sums_twice(comm: Any) -> Any:
    """g sums the gradient too."""
    return _pair(comm, "keep", "sum", "sum", "sum")


def f_sums_forward(comm: Any) -> Any:
    """f sums in both directions."""
    return _pair(comm, "sum", "sum", "sum", "keep")


def swapped(comm: Any) -> Any:
    """g and f."""
    return _pair(comm, "keep", "sum", "sum", "keep")[::-1]


def g_averages(comm: Any) -> Any:
    """g takes the mean."""
    return _pair(comm, "keep", "sum", "mean", "keep")


def f_averages(comm: Any) -> Any:
    """f averages gradients, as data parallelism does."""
    return _pair(comm, "keep", "mean", "sum", "keep")


def no_gradient(comm: Any) -> Any:
    """g sums what autograd does not see."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    f, _ = _pair(comm, "keep", "sum", "sum", "keep")
    return f, lambda x: all_reduce_ring(comm, x.detach().clone())


def g_in_place(comm: Any) -> Any:
    """g sums into the tensor that it is given."""
    return _pair(comm, "keep", "sum", "sum", "keep", copies="fb")


def f_in_place(comm: Any) -> Any:
    """f sums into the gradient that it is given."""
    return _pair(comm, "keep", "sum", "sum", "keep", copies="gb")


def g_in_place_backward(comm: Any) -> Any:
    """g's backward sums into the gradient that it is given."""
    return _pair(comm, "keep", "sum", "sum", "sum", copies="fg")


def f_gives_nothing(comm: Any) -> Any:
    """The backward of f sums, and forgets to return what it summed."""
    import torch

    from helpers.algorithms.messages.collectives import all_reduce_ring

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            all_reduce_ring(comm, gradients[0].clone())

    return F.apply, _pair(comm, "keep", "sum", "sum", "keep")[1]


def classes(comm: Any) -> Any:
    """Returns the classes and not their `apply`."""
    f, g = _pair(comm, "keep", "sum", "sum", "keep")
    return f.__self__, g.__self__


def sends_in_vain(comm: Any) -> Any:
    """g averages gradients that are the same everywhere."""
    return _pair(comm, "keep", "sum", "sum", "mean")


def one_function(comm: Any) -> Any:
    """Returns f alone."""
    return _pair(comm, "keep", "sum", "sum", "keep")[0]


def rank_0_alone(comm: Any) -> Any:
    """The others do not come to the sum of gradients."""
    f, g = _pair(comm, "keep", "sum", "sum", "keep")
    return (f if comm.rank == 0 else lambda x: x), g


def hook_on_x(comm: Any) -> Any:
    """f hooks the tensor that it is given, and not one of its own."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    def f(x: Any) -> Any:
        if x.requires_grad:
            x.register_hook(lambda gradient: all_reduce_ring(comm, gradient.clone()))
        return x

    return f, _pair(comm, "keep", "sum", "sum", "keep")[1]


def g_divides(comm: Any) -> Any:
    """g shares the gradient out among the ranks."""
    import torch

    from helpers.algorithms.messages.collectives import all_reduce_ring

    class G(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return all_reduce_ring(comm, x.clone())

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0] / comm.size

    return _pair(comm, "keep", "sum", "sum", "keep")[0], G.apply


def two_dimensions(comm: Any) -> Any:
    """Takes rows of numbers only."""
    f, g = _pair(comm, "keep", "sum", "sum", "keep")

    def of_rows(x: Any) -> Any:
        rows, width = x.shape
        return g(x.view(rows, width))

    return f, of_rows


def flat_view(comm: Any) -> Any:
    """Takes tensors in one piece only."""
    f, g = _pair(comm, "keep", "sum", "sum", "keep")
    return f, lambda x: g(x.view(-1)).view(x.shape)


def no_wait(comm: Any) -> Any:
    """g sends its term to everybody, and waits for none of the messages."""
    import torch

    class G(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            mine, others = x.clone(), [r for r in range(comm.size) if r != comm.rank]
            for other in others:
                comm.isend(mine, other)
            total = mine.clone()
            for other in others:
                total += comm.recv(other)
            return total

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0]

    return _pair(comm, "keep", "sum", "sum", "keep")[0], G.apply
