"""The reference of exercise 03.4, and buckets with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(sizes: list[int], limit: int) -> list[list[int]]:
    """The course's own: what is wanted."""
    found: list[list[int]] = []
    held = limit
    for number in reversed(range(len(sizes))):
        if held >= limit:
            found.append([])
            held = 0
        found[-1].append(number)
        held += sizes[number]
    return found


def forward(sizes: list[int], limit: int) -> Any:
    """First parameter first."""
    last = len(sizes) - 1
    return [[last - i for i in bucket] for bucket in reference(sizes[::-1], limit)]


def numbered_from_the_end(sizes: list[int], limit: int) -> Any:
    """Numbers the parameters of the reversed list."""
    last = len(sizes) - 1
    return [[last - i for i in bucket] for bucket in reference(sizes, limit)]


def turned_inside(sizes: list[int], limit: int) -> Any:
    """Puts each parameter before the others of its bucket."""
    return [bucket[::-1] for bucket in reference(sizes, limit)]


def used_up(sizes: list[int], limit: int) -> Any:
    """Takes the sizes out of the list that it is given."""
    found: list[list[int]] = []
    held = limit
    while sizes:
        size, number = sizes.pop(), len(sizes)
        if held >= limit:
            found.append([])
            held = 0
        found[-1].append(number)
        held += size
    return found


def by_size(sizes: list[int], limit: int) -> Any:
    """Sorts by size."""
    order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    return [
        [order[-1 - i] for i in b] for b in reference([sizes[i] for i in reversed(order)], limit)
    ]


def loses_last(sizes: list[int], limit: int) -> Any:
    """Appends a bucket only when it is full."""
    found, bucket = [], []
    for number in reversed(range(len(sizes))):
        bucket.append(number)
        if sum(sizes[i] for i in bucket) >= limit:
            found.append(bucket)
            bucket = []
    return found


def counts_to_one(sizes: list[int], limit: int) -> Any:
    """A range that ends before 0."""
    found, bucket, held = [], [], 0
    for number in range(len(sizes) - 1, 0, -1):
        bucket.append(number)
        held += sizes[number]
        if held >= limit:
            found.append(bucket)
            bucket, held = [], 0
    return [*found, bucket] if bucket else found


def leaves_empty(sizes: list[int], limit: int) -> Any:
    """Opens the next bucket as soon as one is full."""
    found: list[list[int]] = [[]]
    for number in reversed(range(len(sizes))):
        found[-1].append(number)
        if sum(sizes[i] for i in found[-1]) >= limit:
            found.append([])
    return found


def never_above(sizes: list[int], limit: int) -> Any:
    """Closes a bucket before it would go above the limit."""
    found: list[list[int]] = []
    held = 0
    for number in reversed(range(len(sizes))):
        if not found or held + sizes[number] > limit:
            found.append([])
            held = 0
        found[-1].append(number)
        held += sizes[number]
    return found


def only_above(sizes: list[int], limit: int) -> Any:
    """Closes a bucket only when it is above the limit."""
    return reference(sizes, limit + 1)


def bytes_for_numbers(sizes: list[int], limit: int) -> list[list[int]]:
    """Puts the sizes into the buckets."""
    return [[sizes[i] for i in bucket] for bucket in reference(sizes, limit)]
