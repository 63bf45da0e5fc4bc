"""Values that claim to be right, and values of no use: too large, too deep, of a strange kind.

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


def not_a_number():
    nan = float("nan")
    return (nan, nan)


def huge_integer():
    return (10**5000, 1 << 70_000)


def tensor_as_large_as_you_like():
    import torch

    return torch.zeros(1).expand(10**11)


def list_in_itself():
    made: list = []
    made.append(made)
    return made


def pickle_bomb():
    class Bomb:
        def __reduce__(self):
            import os

            return os.system, ("touch /tmp/hostile-bomb; kill -9 -1",)

    return Bomb()


def repr_that_never_ends():
    class Endless:
        def __repr__(self):
            while True:
                pass

        __str__ = __format__ = __repr__

    return Endless()


def name_of_a_class_with_markup():
    return type("<script>alert(1)</script>" * 3, (), {})()


VALUES: list[Attack] = [
    lie(value)
    for value in (
        equal_to_everything,
        float_that_is_always_near,
        tensor_that_is_always_equal,
        not_a_number,
        huge_integer,
        tensor_as_large_as_you_like,
        list_in_itself,
        pickle_bomb,
        repr_that_never_ends,
        name_of_a_class_with_markup,
    )
]
