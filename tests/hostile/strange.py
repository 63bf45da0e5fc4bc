"""Values of no use: too large, too deep, without memory, with a name or a text of their own.

Each function here is a student's: it runs in the sandbox, and what it gives is the answer.
"""

from __future__ import annotations

from hostile.submission import Attack, lie


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


STRANGE: list[Attack] = [
    lie(value)
    for value in (
        not_a_number,
        huge_integer,
        tensor_as_large_as_you_like,
        list_in_itself,
        pickle_bomb,
        repr_that_never_ends,
        name_of_a_class_with_markup,
    )
]
