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


def int_that_is_always_equal():
    class Equal(int):
        __eq__ = lambda self, other: True
        __hash__ = int.__hash__
        __float__ = lambda self: Equal(0)

    return (Equal(1), Equal(2))


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


def parameter_that_lies_about_its_values():
    import numpy
    import torch

    class Lies(numpy.ndarray):
        __eq__ = __le__ = lambda self, other: True
        tobytes = lambda self, *args: b"\0" * 8

    tensor = torch.nn.Parameter(torch.ones(2))
    tensor.detach = lambda: tensor
    tensor.numpy = lambda: numpy.ones(2).view(Lies)
    return tensor


def array_of_objects():
    import numpy

    class Same:
        __eq__ = __le__ = lambda self, other: True
        __sub__ = __rsub__ = __abs__ = lambda self, *other: self

    made = numpy.empty(2, object)
    made[:] = [Same(), Same()]
    return made


def array_subclass():
    import numpy

    class Lies(numpy.ndarray):
        dtype = shape = property(lambda self: numpy.dtype("float32"))
        __eq__ = __le__ = lambda self, other: True
        __array_ufunc__ = lambda self, *args, **options: numpy.bool_(True)

    return numpy.ones(2).view(Lies)


def array_that_makes_itself():
    class Makes:
        __array_priority__ = 1e9
        __array_interface__ = {  # noqa: RUF012
            "shape": (2,),
            "typestr": "<f8",
            "version": 3,
            "data": (0, False),
        }

        def __array__(self, *args, **options):
            return self

    return Makes()


def class_that_lies():
    class Lies:
        __class__ = float
        __float__ = lambda self: 0.0
        __eq__ = lambda self, other: True

    return [Lies(), Lies()]


def metaclass_that_lies():
    class Meta(type):
        __eq__ = lambda cls, other: True
        __hash__ = type.__hash__
        __instancecheck__ = __subclasscheck__ = lambda cls, other: True
        __name__ = property(lambda cls: "float")

    class Lies(metaclass=Meta):
        pass

    return (Lies(), Lies())


def list_that_lies():
    class Lies(list):
        __eq__ = lambda self, other: True
        __len__ = lambda self: 2
        __iter__ = lambda self: iter([float("nan")] * 2)

    return Lies()


def dict_that_lies():
    class Lies(dict):
        __getitem__ = get = lambda self, *key: True
        __contains__ = __eq__ = lambda self, other: True

    return Lies(passed=True)


def result_of_the_check():
    import helpers.checks.result
    import helpers.checks.spec

    return helpers.checks.spec.Verdict("passed")


def observation_of_its_own():
    from helpers.checks.spec import Observation

    return Observation(values=[1.0])


def word_passed():
    return "passed"


LIES: list[Attack] = [
    lie(value)
    for value in (
        equal_to_everything,
        float_that_is_always_near,
        int_that_is_always_equal,
        tensor_that_is_always_equal,
        parameter_that_lies_about_its_values,
        array_of_objects,
        array_subclass,
        array_that_makes_itself,
        class_that_lies,
        metaclass_that_lies,
        list_that_lies,
        dict_that_lies,
        result_of_the_check,
        observation_of_its_own,
        word_passed,
    )
]
