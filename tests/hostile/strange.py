"""Values of no use: too large, too deep, without memory, with a name or a text of their own.

Each function here is a student's: it runs in the sandbox, and what it gives is the answer.
"""

from __future__ import annotations

from hostile.submission import Attack, lie


def not_a_number():
    nan = float("nan")
    return (nan, nan)


def infinite():
    return (float("inf"), float("-inf"))


def huge_integer():
    return (10**5000, 1 << 70_000)


def half_of_a_surrogate_pair():
    return "\ud800" * 20


def masked_array():
    import numpy

    return numpy.ma.masked_all((2,))


def tensor_without_memory():
    import torch

    return torch.ones(2, device="meta")


def tensor_as_large_as_you_like():
    import torch

    return torch.zeros(1).expand(10**11)


def sparse_and_quantised():
    import torch

    return torch.eye(2).to_sparse()


def complex_number():
    return (1 + 0j, 2 + 0j)


def generator():
    return (1.0 for _ in range(2))


def list_in_itself():
    made: list = []
    made.append(made)
    return made


def deeply_nested():
    made: list = []
    for _ in range(100_000):
        made = [made]
    return made


def many_items():
    return list(range(3_000_000))


def shared_lists_that_grow():
    made: object = 0.0
    for _ in range(40):
        made = [made, made]
    return made


def pickle_bomb():
    class Bomb:
        def __reduce__(self):
            import os

            return os.system, ("touch /tmp/hostile-bomb; kill -9 -1",)

    return Bomb()


def pickled_bytes():
    import pickle

    return pickle.dumps(print)


def text_that_is_code():
    return "__import__('os').system('touch /tmp/hostile-eval')"


def fraction_and_decimal():
    import decimal
    import fractions

    return (fractions.Fraction(1, 3), decimal.Decimal("NaN"))


def repr_that_never_ends():
    class Endless:
        def __repr__(self):
            while True:
                pass

        __str__ = __format__ = __repr__

    return Endless()


def name_of_a_class_with_markup():
    return type("<script>alert(1)</script>" * 3, (), {})()


STRANGE: list[Attack] = [
    lie(value)
    for value in (
        not_a_number,
        infinite,
        huge_integer,
        half_of_a_surrogate_pair,
        masked_array,
        tensor_without_memory,
        tensor_as_large_as_you_like,
        sparse_and_quantised,
        complex_number,
        generator,
        list_in_itself,
        deeply_nested,
        many_items,
        shared_lists_that_grow,
        pickle_bomb,
        pickled_bytes,
        text_that_is_code,
        fraction_and_decimal,
        repr_that_never_ends,
        name_of_a_class_with_markup,
    )
]
