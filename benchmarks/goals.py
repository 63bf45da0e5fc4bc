"""What the course's parts must reach: every target once, and which benchmark's claims tell it.

A benchmark holds a figure against its goal (`Report.hold`). The table of `./course bench all`
finds those claims again in kept results, by the goal's pattern.
"""

from __future__ import annotations

from typing import NamedTuple


class Goal(NamedTuple):
    """One target.

    what: whose figure. claims: a pattern that the texts of its claims match, from end to end.
    at_least: whether more is better. limit: what holds the figure back where it is missed.
    """

    what: str
    claims: str
    target: float
    at_least: bool = True
    unit: str = "×"
    limit: str = ""


class Part(NamedTuple):
    """A part of the course, a row of the table. benchmark: the one that tells; "" where none does.

    elsewhere: where none does, why, and what does.
    """

    what: str
    benchmark: str
    goals: tuple[Goal, ...]
    elsewhere: str = ""


WARM = Goal("torch ranks", r"\d+ torch ranks, warm", 0.25, False, " s")
OTHER_RANKS = Goal("Horovod's and TensorFlow's", r"\d+ (Horovod|TensorFlow) ranks, warm",
                   0.8, False, " s")  # fmt: skip
LAUNCHERS = Goal(
    "torchrun, mp.spawn, horovodrun, notebook_launcher in a notebook in use, seconds beside ours",
    r"quicker than (?!.*call alone).*",
    15,
)
BARE_CALL = Goal(
    "notebook_launcher's bare call in a process that never computed, seconds beside ours",
    r"quicker than notebook_launcher, call alone",
    2,
    limit="It forks the process that calls it, and nothing more. Ours sends the function to ranks "
    "that are forked elsewhere, and brings back what they returned, printed and traced.",
)
RING = Goal("speed beside gloo's", r"ring against gloo, .*, shared memory", 0.9)
RING_ON_SOCKETS = Goal(
    "speed beside gloo's, both over sockets",
    r"ring against gloo, .*, sockets",
    0.9,
    limit="Over sockets each message of our ring is a call from Python, and is added when all of "
    "it has come. gloo's own ring cuts its messages into segments, and adds one while the next is "
    "on its way.",
)
SHARED_ON_2 = Goal("in shared memory on 2 ranks, speed beside gloo's",
                   r"shared memory against gloo, .*, 2 ranks", 6)  # fmt: skip
SHARED_ON_4 = Goal("in shared memory on 4 ranks, speed beside gloo's",
                   r"shared memory against gloo, .*, 4 ranks", 3)  # fmt: skip
STEP = Goal(
    "seconds beside torch DDP's",
    r"(ring|gloo's all-reduce), of torch DDP.*'s step, .*",
    1.05,
    False,
    limit="With gloo's all-reduce both steps send the same bytes by the same calls, so what is "
    "measured is how the machine schedules more ranks than it has cores.",
)
SHARED_STEP = Goal("with buckets in shared memory, seconds beside torch DDP's",
                   r"shared memory, of torch DDP.*'s step, .*", 0.8, False)  # fmt: skip
HOROVOD_STEP = Goal("seconds beside Horovod's", r".*, of Horovod's step, .*", 1.0, False)
EVENTS = Goal("events a second beside SimPy's", r"ours against SimPy, .*", 10,
              limit="It was missed with 10 workers and timeouts alone, where two runs within three "
              "hours gave 9.5 and 11.7 times.")  # fmt: skip
ARRIVALS = Goal("arrivals, relative difference from SimPy's", r"arrivals against SimPy, .*",
                1e-9, False, "")  # fmt: skip
GROWTH = Goal("time an event, with ten times the workers", r"time an event, .* over .*",
              1.2, False)  # fmt: skip
REDRAW = Goal("500 workers simulated and drawn", r"simulate and redraw: .*", 0.2, False, " s")
LINK = Goal(
    "of the raw rate",
    r"(ring|gloo), .*, of the limit",
    93,
    unit=" %",
    limit="A core that feeds several links at once is slower than they are.",
)
OF_FP32 = Goal(
    "speed beside fp32's, batch 32 and up",
    r"ours, times as quick as fp32, linear .*",
    3,
    limit="With many rows arithmetic sets the pace, and AVX2 without VNNI or AMX gives about twice "
    "float32's: it sums up pairs of 8-bit products in 16 bits, and widens them by further "
    "instructions. With few rows reading the weights sets it, and codes are a quarter as much.",
)
OF_TORCHAO = Goal("speed beside torchao's", r"ours, times as quick as torchao, .*", 1)
GRADED = Goal("submissions a second beside nbgrader's and otter-grader's",
              r"submissions a second, beside .*", 10,
              limit="A submission's ranks are several processes, each of which is forked, runs the "
              "cells and ends, and every message between them passes the judge: where the system "
              "is slow to fork and to switch, it is this that it is slow at.")  # fmt: skip
SLOWEST_LESSON = Goal(
    "the slowest",
    r"the slowest of \d+ solutions",
    90,
    False,
    " s",
    "The capstone trains five ways over five seeds in three settings, in earnest, which its top "
    "says. Lessons 04, 05 and 17 start many Pythons that load TensorFlow or Horovod, some to be "
    "killed.",
)
MEAN_LESSON = Goal(
    "on average",
    r"\d+ solutions on average",
    45,
    False,
    " s",
    "Every lesson starts frameworks in several processes and measures beside them, and two cores "
    "run one or two of those at a time.",
)

TESTS = Part(
    "the test command",
    "",
    (
        Goal("a further lesson adds", "", 1, False, " min"),
        Goal("--fast", "", 5, False, " min"),
        Goal("--all", "", 90, False, " min"),
        Goal("everyday, set-up included, of what it took at thirteen lessons", "", 0.5, False),
    ),
    "No benchmark runs the tests. `./course test` ends with its seconds, and the record of "
    "continuous integration has them for every change.",
)

PARTS = (
    Part("four ranks from a cell, warm", "launch", (WARM, OTHER_RANKS, LAUNCHERS, BARE_CALL)),
    Part("the ring all-reduce of lesson 02, 10 to 40 MB", "collectives",
         (RING, SHARED_ON_2, SHARED_ON_4, RING_ON_SOCKETS)),
    Part("a step with the data parallelism of lesson 03", "data-parallel",
         (STEP, SHARED_STEP, HOROVOD_STEP)),
    Part("the virtual clock", "simulate", (EVENTS, ARRIVALS, GROWTH, REDRAW)),
    Part("an all-reduce over shaped links", "hosts", (LINK,)),
    Part("the 8-bit products of lesson 11", "quantize", (OF_FP32, OF_TORCHAO)),
    Part("grading, in a sandbox", "grade", (GRADED,)),
    Part("a lesson's solution, start to end", "lessons", (SLOWEST_LESSON, MEAN_LESSON)),
    TESTS,
)  # fmt: skip
