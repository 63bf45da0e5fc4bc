"""Words and floods: what the student's code writes, raises and names."""

from __future__ import annotations

from hostile.submission import Attack, at_once, beside, ending, right

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


def output_streams_are_gone():
    import os
    import sys

    sys.stdout = sys.stderr = sys.__stdout__ = None
    for descriptor in (0, 1, 2):
        os.close(descriptor)


def flood_of_warnings():
    import warnings

    warnings.simplefilter("always")
    for number in range(20_000):
        warnings.warn("hostile " * 100 + str(number), stacklevel=1)


def raises_markup():
    raise ValueError("<script>alert('hostile')</script><img src=x onerror=alert(1)>")


def raises_a_formula():
    raise ValueError('=HYPERLINK("http://192.0.2.1/","hostile")')


def raises_control_characters():
    raise ValueError('\x1b[2J\x00\x07\u202ehostile\u2028\r\n,"\t' + "\ud800")


def raises_megabytes():
    raise ValueError("hostile" * 10_000_000)


def raises_a_name_of_markup():
    raise type("<script>" * 1000, (Exception,), {})("hostile")


def raises_what_has_no_text():
    class Silent(Exception):
        def __str__(self):
            raise SystemExit(0)

        __repr__ = __str__
        args = property(__str__)

    raise Silent


def raises_what_says_for_ever():
    class Endless(Exception):
        def __str__(self):
            while True:
                pass

    raise Endless


def raises_text_of_its_own_kind():
    class Text(str):
        def __len__(self):
            return 0

        def __getitem__(self, item):
            return self

        __str__ = __iter__ = lambda self: self

    class Strange(Exception):
        def __str__(self):
            return Text("hostile" * 1_000_000)

    raise Strange


def raises_a_chain_without_end():
    error = ValueError("hostile")
    for _ in range(100_000):
        try:
            raise ValueError("hostile") from error
        except ValueError as next_one:
            error = next_one
    raise error


def raises_a_group():
    raise BaseExceptionGroup("hostile", [SystemExit(0), KeyboardInterrupt()])


def claims_that_it_is_not_done():
    raise NotImplementedError("Exercise <script>02.1</script> is not done yet")


def claims_that_another_is_not_done():
    raise NotImplementedError("Exercise 99.9 is not done yet" * 100)


WORDS: list[Attack] = [
    *beside(flood_of_output),
    *beside(output_streams_are_gone),
    *beside(flood_of_warnings),
    *(
        ending(attack)
        for attack in (
            raises_markup,
            raises_a_formula,
            raises_control_characters,
            raises_megabytes,
            raises_a_name_of_markup,
            raises_what_has_no_text,
            raises_what_says_for_ever,
            raises_text_of_its_own_kind,
            raises_a_chain_without_end,
            raises_a_group,
            claims_that_it_is_not_done,
            claims_that_another_is_not_done,
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
    Attack("output from a cell", [at_once(flood_of_output), right("fit")], full=("fit",)),
]
