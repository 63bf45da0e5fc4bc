"""The reference of exercise 05.4, and placements with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def _greedy(sizes: Sequence[int], servers: int, order: Sequence[int]) -> list[int]:
    held, places = [0] * servers, [0] * len(sizes)
    for tensor in order:
        places[tensor] = held.index(min(held))
        held[places[tensor]] += sizes[tensor]
    return places


def _largest_first(sizes: Sequence[int]) -> list[int]:
    return sorted(range(len(sizes)), key=lambda tensor: -sizes[tensor])


def reference(sizes: list[int], servers: int) -> list[int]:
    """The course's own."""
    return _greedy(sizes, servers, _largest_first(sizes))


def round_robin(sizes: list[int], servers: int) -> list[int]:
    """The servers take turns, whatever the sizes."""
    return [tensor % servers for tensor in range(len(sizes))]


def unsorted(sizes: list[int], servers: int) -> list[int]:
    """In the model's order, each to the emptiest."""
    return _greedy(sizes, servers, range(len(sizes)))


def smallest_first(sizes: list[int], servers: int) -> list[int]:
    """Sorted the wrong way."""
    return _greedy(sizes, servers, sorted(range(len(sizes)), key=lambda tensor: sizes[tensor]))


def fewest_tensors(sizes: list[int], servers: int) -> list[int]:
    """Counts tensors and not bytes."""
    order, places = _largest_first(sizes), [0] * len(sizes)
    for turn, tensor in enumerate(order):
        places[tensor] = turn % servers
    return places


def in_sorted_order(sizes: list[int], servers: int) -> list[int]:
    """Gives the servers in the order of the sizes, not of the model."""
    places = reference(sizes, servers)
    return [places[tensor] for tensor in _largest_first(sizes)]


def last_server(sizes: list[int], servers: int) -> list[int]:
    """Of servers that hold equally much, the last."""
    held, places = [0] * servers, [0] * len(sizes)
    for tensor in _largest_first(sizes):
        places[tensor] = min(range(servers), key=lambda server: (held[server], -server))
        held[places[tensor]] += sizes[tensor]
    return places


def last_tensor(sizes: list[int], servers: int) -> list[int]:
    """Of equal tensors, the last: a sort that was turned round."""
    return _greedy(sizes, servers, sorted(range(len(sizes)), key=lambda i: (sizes[i], i))[::-1])


def last_of_both(sizes: list[int], servers: int) -> list[int]:
    """The last of equal servers, and of equal tensors."""
    turned = last_server(sizes[::-1], servers)
    return turned[::-1]


def index_of_size(sizes: list[int], servers: int) -> list[int]:
    """Looks each size up in the list, where equal ones are the first of them."""
    return _greedy(sizes, servers, [sizes.index(s) for s in sorted(sizes, reverse=True)])


def marks(sizes: list[int], servers: int) -> list[int]:
    """Marks what has been placed in the list that it was given."""
    held, places = [0] * servers, [0] * len(sizes)
    for _ in sizes:
        tensor = sizes.index(max(sizes))
        places[tensor] = held.index(min(held))
        held[places[tensor]] += sizes[tensor]
        sizes[tensor] = -1
    return places


def as_groups(sizes: list[int], servers: int) -> list[list[int]]:
    """The tensors of each server."""
    places = reference(sizes, servers)
    return [[i for i, place in enumerate(places) if place == s] for s in range(servers)]


KNOWN: dict[str, Callable[[list[int], int], list[int]]] = {
    "round robin": round_robin,
    "unsorted": unsorted,
    "smallest first": smallest_first,
    "fewest tensors": fewest_tensors,
    "in sorted order": in_sorted_order,
    "last server": last_server,
    "last tensor": last_tensor,
    "last of both": last_of_both,
    "index of size": index_of_size,
}
TIES = {name: rule for name, rule in KNOWN.items() if name.startswith("last ")}
