"""How two measured numbers compare, in words: on another machine they may lie the other way."""

from __future__ import annotations


def times_as(ratio: float, more: str, less: str = "", digits: int = 2) -> str:
    """A ratio in words: with "quick" and "slow", 1.5 is "1.50 times as quick".

    0.5 is "2.00 times as slow", or "0.50 times as quick" where there is no other word; what is 1
    in the digits that are printed is "about as quick".
    """
    turned = ratio < 1
    times = 1 / ratio if turned else ratio
    if round(times, digits) == 1:
        return f"about as {more}"
    if turned and not less:
        return f"{ratio:.2f} times as {more}"
    return f"{times:,.{digits}f} times as {less if turned else more}"
