"""Words and floods: what the student's code writes, raises and names."""

from __future__ import annotations

from hostile.submission import Attack, armed, at_once, beside, ending, right

MARKUP = "<script>alert('hostile')</script><img src=x onerror=alert(1)>"
FORMULA = '=HYPERLINK("http://192.0.2.1/","hostile")'


def flood_of_output():
    import os
    import sys

    for _ in range(2000):
        sys.stdout.write("x" * 100_000)
        sys.stderr.write("y" * 100_000)
        for descriptor in (1, 2):
            try:
                os.write(descriptor, b"z" * 100_000)
            except OSError:
                pass


def raises_markup():
    raise ValueError("<script>alert('hostile')</script><img src=x onerror=alert(1)>")


def raises_control_characters():
    raise ValueError('\x1b[2J\x00\x07\u202ehostile\u2028\r\n,"\t' + "\ud800")


def raises_megabytes():
    raise ValueError("hostile" * 10_000_000)


def raises_what_says_for_ever():
    class Endless(Exception):
        def __str__(self):
            while True:
                pass

    raise Endless


def claims_that_it_is_not_done():
    raise NotImplementedError("Exercise <script>02.1</script> is not done yet")


WORDS: list[Attack] = [
    *beside(flood_of_output),
    *(
        ending(attack)
        for attack in (
            raises_markup,
            raises_control_characters,
            raises_megabytes,
            raises_what_says_for_ever,
            claims_that_it_is_not_done,
        )
    ),
    Attack(
        "markup in the names of functions' arguments",
        [right("scatter"), "def fit(sizes, seconds, *, ünïcode_script_alert):\n    return None\n"],
        full=("scatter",),
    ),
    Attack(
        "markup in a cell that fails",
        [
            f"raise_ = {MARKUP!r}\nfit = (lambda: 1 / 0)() if raise_ else None",
            right("scatter"),
            f"def other():\n    raise ValueError({FORMULA!r})\n\n\nfit = other()\n",
        ],
        full=("scatter",),
    ),
    Attack("output from a cell", [at_once(flood_of_output), armed(right("fit"))], full=("fit",)),
]
