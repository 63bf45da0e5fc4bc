"""Values that claim to be right: equal to everything, or of a type that is not theirs.

Each function here is a student's: it runs in the sandbox, and what it gives is the answer.
"""

from __future__ import annotations

from hostile.submission import Attack, lie


def equal_to_everything():
    class Same:
        def __eq__(self, other):
            return True

        __le__ = __lt__ = __ge__ = __gt__ = __contains__ = __eq__
        __hash__ = None
        __bool__ = __call__ = lambda self, *args: True
        __len__ = lambda self: 2
        __abs__ = __float__ = lambda self: 0.0
        __add__ = __radd__ = __sub__ = __rsub__ = __getitem__ = lambda self, other: self
        __getattr__ = lambda self, name: self
        __iter__ = lambda self: iter([self, self])

    return Same()


def float_that_is_always_near():
    class Near(float):
        __eq__ = __le__ = __lt__ = __ge__ = __gt__ = lambda self, other: True
        __ne__ = lambda self, other: False
        __sub__ = __rsub__ = __abs__ = lambda self, *other: 0.0
        __hash__ = float.__hash__

    return (Near(1), Near(2))


def tensor_that_is_always_equal():
    import torch

    class Equal(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return torch.tensor(True)

        def __eq__(self, other):
            return True

        def numpy(self, *args, **options):
            return self

        detach = cpu = copy = float = numpy
        shape = property(lambda self: lambda *args: True)

    return torch.ones(3).as_subclass(Equal)


def array_subclass():
    import numpy

    class Lies(numpy.ndarray):
        dtype = shape = property(lambda self: numpy.dtype("float32"))
        __eq__ = __le__ = lambda self, other: True
        __array_ufunc__ = lambda self, *args, **options: numpy.bool_(True)

    return numpy.ones(2).view(Lies)


def class_that_lies():
    class Lies:
        __class__ = float
        __float__ = lambda self: 0.0
        __eq__ = lambda self, other: True

    return [Lies(), Lies()]


def observation_of_its_own():
    from helpers.checks.spec import Observation

    return Observation(values=[1.0])


LIES: list[Attack] = [
    lie(value)
    for value in (
        equal_to_everything,
        float_that_is_always_near,
        tensor_that_is_always_equal,
        array_subclass,
        class_that_lies,
        observation_of_its_own,
    )
]
