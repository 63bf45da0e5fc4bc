"""What is said to each wrong answer to exercise 06.7; words in braces are the case's."""

from __future__ import annotations

SAYS = {
    "one too strict": "at turn {turn} {came}; you do not release {missing}, {short} ahead of the "
    "slowest with a bound of {bound}: exactly at the bound a worker goes on (≤, not <).",
    "one too lenient": "at turn {turn} {came}; you release {extra}, {lead} ahead of the slowest, "
    "one more than the bound of {bound}.",
    "before it counts": "at turn {turn} {came}; you compare before you count its gradient, so that "
    "its clock is one behind: `self.clocks[worker]` goes up first.",
    "nobody waits": "at turn {turn} {came} and is then {ahead} ahead of the slowest, with a bound "
    "of {bound}, and goes on at once, as everybody does in your class. Its own clock goes up, and "
    "no other; it is compared with the slowest clock of all, of those too who are computing.",
    "the quickest": "at turn {turn} {came}; you measure the distance from the quickest, so that "
    "those behind wait and those ahead go on: in the end the slowest waits, and nobody can help "
    "it. The slowest never waits.",
    "the mean": "at turn {turn} {came}; you measure the distance from the mean of the clocks. The "
    "slowest decides: `min(self.clocks.values())`.",
    "staleness": "at turn {turn} {came}, {late} late, and you judge by that: it counts everybody's "
    "updates. A worker's clock counts its own gradients, and is compared with the slowest clock.",
    "all updates": "at turn {turn} {came}; its clock is the number of all updates, not of its own "
    "gradients: `self.clocks[worker] += 1`.",
    "always a barrier": "at turn {turn} {came}; you do not release {missing}, {short} ahead with a "
    "bound of {bound}: you wait as if the bound were 0.",
    "only itself": "at turn {turn} {came}, and with it {missing} need not wait any longer: you ask "
    "only whether the one that came may go on, and nobody wakes those who wait.",
    "one of them": "at turn {turn} {came}, and {missing} may go on as well: you wake one of those "
    "who wait and leave the others asleep. Ask each of them.",
    "woken twice": "at turn {turn} {came}; you release {extra} once more, long since on the way: "
    "take from `self.waiting` those who go on.",
    "clock of one that left": "at turn {turn} {came}; {missing} may go on now. You still wait for "
    "a worker that has left: its clock stands still for ever. Take it out of `self.clocks`.",
    "nobody woken": "at turn {turn} {came}, and {missing} waited for it alone; you release nobody. "
    "Take its clock out of `self.clocks` first, and release in `leave` who may go on then.",
    "not a word of it": "at turn {turn} {came}, and `leave` returns nothing: it gives a Decision, "
    "which names who may go on now, `Decision(self.may_go())`.",
    "left and released": "at turn {turn} {came}; you release {extra}, who has left: take it out of "
    "`self.waiting`, too.",
    "drops": "at turn {turn} {came} and is too far ahead, and you throw its gradient away. It "
    "counts, and is applied at once; only its worker waits.",
    "held back": "at turn {turn} {came} and has to wait, and you keep its gradient until it may go "
    "on. A gradient is applied when it comes: it is the worker that waits.",
    "never applied": "after turn {turn} the weights are still those of the start: make the "
    "update, `self.apply(gradient)`.",
    "counts itself": "at turn {turn} {came}, {late} late, and you note one more: take "
    "`self.push(...)` before `self.apply` counts the version up.",
}
