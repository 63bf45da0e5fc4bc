"""What each rank is doing, in words, and why ranks that wait for each other will wait for ever.

Pure functions from the states of the ranks to a report: every engine tells the same story.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Doing = Literal[
    "computing",
    "ready",
    "sending",
    "receiving",
    "barrier",
    "shared",
    "background",
    "idle",
    "returned",
]
COLLECTIVE = {"barrier": "come to the barrier", "shared": "call shared()"}
SHOWN = 8  # so many ranks are told one by one


@dataclass(frozen=True, slots=True)
class State:
    """What a rank is doing.

    peer: the other rank, of a message. bytes: of a message to send. what: the name of the
    background function that it waits for. place: where in the user's code, as `places.place`
    words it. ended: its function has returned, and its open requests are waited for.
    background: what its background function is doing, where one is under way.
    """

    rank: int
    doing: Doing
    peer: int | None = None
    bytes: int = 0
    what: str = ""
    place: str = ""
    ended: bool = False
    background: State | None = None

    @property
    def waits(self) -> bool:
        """Whether the rank itself waits for something."""
        return self.doing not in ("computing", "ready", "idle", "returned")

    @property
    def lanes(self) -> tuple[State, ...]:
        """What the rank and its background function do, without a wait for that function."""
        lanes = (self,) if self.background is None else (self, self.background)
        return tuple(s for s in lanes if s.doing != "background" or s.background is None)


def operation(state: State) -> str:
    """A rank's doing as a verb: "send 40 B to rank 1", "come to the barrier"."""
    match state.doing:
        case "sending":
            return f"send {amount(state.bytes)} to rank {state.peer}"
        case "receiving":
            return f"receive from rank {state.peer}"
        case "barrier" | "shared":
            return COLLECTIVE[state.doing]
        case "background":
            return f"finish its background {state.what or 'function'}"
        case "returned":
            return "return"
        case _:
            return "compute"


def wait_words(state: State, states: Sequence[State]) -> str:
    """What a rank waits for: "to receive from rank 1", "for rank 2 to come to the barrier"."""
    match state.doing:
        case "sending" | "receiving":
            words = f"to {operation(state)}"
        case "barrier" | "shared":
            absent = missing(state, states)
            words = f"for {rank_words(absent) if absent else 'all ranks'} to {operation(state)}"
        case _:
            words = f"for its background {state.what or 'function'}"
    behind = state.background
    if behind is not None and behind.waits:
        link = ", which waits" if state.doing == "background" else "; its background function waits"
        words += f"{link} {wait_words(behind, states)}"
    return words


def sentences(some: Sequence[State], states: Sequence[State] | None = None) -> str:
    """What some of the ranks are doing, ranks that do the same together; `states` has all."""
    states = some if states is None else states
    groups: dict[tuple[str, str], list[int]] = {}
    for state in some:
        one, many = "has returned", "have returned"
        if state.waits:
            words = wait_words(state, states)
            one, many = f"waits {words}", f"wait {words}"
        elif state.doing == "ready":
            one, many = "is ready to go on", "are ready to go on"
        elif state.doing != "returned":
            one, many = "is computing", "are computing"
        groups.setdefault((one, many), []).append(state.rank)
    told = [
        f"{rank_words(ranks)} {one if len(ranks) == 1 else many}"
        for (one, many), ranks in list(groups.items())[:SHOWN]
    ]
    left = sum(len(ranks) for ranks in list(groups.values())[SHOWN:])
    return "; ".join([*told, f"and so on for {left} more"] if left else told)


def place_lines(states: Sequence[State]) -> list[str]:
    """A line for each place in the user's code where ranks wait."""
    places: dict[str, list[int]] = {}
    for state in states:
        for lane in state.lanes:
            if lane.place:
                places.setdefault(lane.place, []).append(lane.rank)
    lines = [
        f"  {rank_words(sorted(set(ranks)))}: {place}" for place, ranks in list(places.items())
    ]
    return [*lines[:SHOWN], *(["  …"] if len(lines) > SHOWN else [])]


def tell(states: Sequence[State], seconds: float | None = None) -> tuple[str, dict[int, str]]:
    """Tell a deadlock: the report, and for each rank that waits, what it waits for.

    The second is in words, such as `{0: "waits to receive from rank 1"}`.
    states: one for each rank, in rank order. seconds: when it happened, where there is a clock.
    """
    waiting = {s.rank: f"waits {wait_words(s, states)}" for s in states if s.waits}
    at = "" if seconds is None else f" at {duration(seconds)}"
    report = [f"Deadlock{at}: {sentences(states)}.", *place_lines(states)]
    reason = explain(states)
    return "\n".join([*report, reason] if reason else report), waiting


def missing(state: State, states: Sequence[State]) -> list[int]:
    """The ranks that have not come to the collective in which a rank waits."""
    return [s.rank for s in states if all(lane.doing != state.doing for lane in s.lanes)]


def explain(states: Sequence[State]) -> str:
    """What is the matter, where the pattern is a known one; otherwise nothing."""
    lanes = [lane for state in states for lane in state.lanes if lane.waits]
    by_rank = {state.rank: state for state in states}
    return (
        _other_lane(lanes, by_rank)
        or _collectives(lanes, states)
        or _returned(lanes, by_rank)
        or _circle(lanes)
        or _elsewhere(lanes, by_rank)
    )


def _other_lane(lanes: Sequence[State], by_rank: dict[int, State]) -> str:
    for state in lanes:
        for other in by_rank[state.peer].lanes if state.peer is not None else ():
            pair = {state.doing, other.doing}
            if other.peer == state.rank != other.rank and pair == {"sending", "receiving"}:
                return (
                    f"Rank {state.rank} and rank {other.rank} mean each other, but one of them in "
                    "a background function: messages of background functions reach only "
                    "background functions."
                )
    return ""


def _collectives(lanes: Sequence[State], states: Sequence[State]) -> str:
    inside = {kind: [s.rank for s in lanes if s.doing == kind] for kind in COLLECTIVE}
    if inside["barrier"] and inside["shared"]:
        return (
            f"The ranks are in different collectives, {rank_words(inside['barrier'])} at the "
            f"barrier and {rank_words(inside['shared'])} in shared(): every rank has to call "
            "the same ones in the same order."
        )
    for kind, ranks in inside.items():
        gone = [s.rank for s in states if ranks and s.doing == "returned"]
        if gone:
            skips = {"barrier": "coming to the barrier", "shared": "calling shared()"}[kind]
            return (
                f"{_have(gone, 'returned')} without {skips}, while others wait there: every rank "
                f"has to {COLLECTIVE[kind]} equally often."
            )
        for state in lanes:
            if state.peer in ranks and state.rank not in ranks:
                return (
                    f"Rank {state.rank} cannot {COLLECTIVE[kind]}, since it waits to "
                    f"{operation(state)}, and rank {state.peer} is there already."
                )
    return ""


def _returned(lanes: Sequence[State], by_rank: dict[int, State]) -> str:
    for state in lanes:
        if state.peer is None or state.peer == state.rank:
            continue
        peer = by_rank[state.peer]
        if state.ended and state.doing == "sending":
            return (
                f"Rank {state.rank} has come to the end of its function with a message for rank "
                f"{state.peer} that nobody receives: each send needs one recv."
            )
        if peer.doing == "returned" or peer.ended:
            does = "receiving" if state.doing == "sending" else "sending"
            return (
                f"Rank {peer.rank} has come to the end of its function without {does} what rank "
                f"{state.rank} waits for: count the sends and receives of both."
            )
    return ""


def _circle(lanes: Sequence[State]) -> str:
    first: dict[int, State] = {}
    for state in lanes:
        if state.peer is not None:
            first.setdefault(state.rank, state)
    for start in first:
        circle: list[int] = []
        at: int | None = start
        while at in first and at not in circle:
            circle.append(at)
            at = first[at].peer
        if at != start:
            continue
        doing = {first[rank].doing for rank in circle}
        who = rank_words(sorted(circle))
        if circle == [start]:
            return f"Rank {start} waits for itself: keep your own part without sending it."
        if doing == {"sending"}:
            return (
                f"Each of {who} sends before it receives, and a send returns only when it is "
                "received: let one receive first, or start with isend and wait() after the recv."
            )
        if doing == {"receiving"}:
            return f"Each of {who} receives before it sends: one of them has to send first."
    return ""


def _elsewhere(lanes: Sequence[State], by_rank: dict[int, State]) -> str:
    for state in lanes:
        for other in by_rank[state.peer].lanes if state.peer is not None else ():
            if other.peer is not None and other.peer != state.rank:
                return (
                    f"Rank {state.rank} waits to {operation(state)}, but rank {other.rank} is "
                    f"about to {operation(other)} instead."
                )
    return ""


def _have(ranks: Sequence[int], participle: str) -> str:
    words = rank_words(ranks)
    return f"{words[0].upper()}{words[1:]} {'has' if len(ranks) == 1 else 'have'} {participle}"


def rank_words(ranks: Iterable[int]) -> str:
    """Numbers of ranks in words: "rank 2", "ranks 0 to 3", "ranks 0, 2 and 5"."""
    ranks = list(ranks)
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and ranks == list(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]} to {ranks[-1]}"
    shown = [str(rank) for rank in ranks[:SHOWN]]
    if len(ranks) > SHOWN:
        shown[-1:] = [f"{len(ranks) - SHOWN + 1} more"]
    return f"ranks {', '.join(shown[:-1])} and {shown[-1]}"


def amount(count: int) -> str:
    """A number of bytes with its unit: "40 B", "1.6 MB"."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= 10 * size or (count >= size and unit != "kB"):
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def duration(seconds: float) -> str:
    """A time with its unit: "0.35 ms", "2 s"."""
    if seconds == 0 or seconds >= 1:
        return f"{seconds:.4g} s"
    return f"{seconds * 1e3:.4g} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.4g} µs"
