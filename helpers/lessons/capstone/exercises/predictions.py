"""Exercise 18.1, predictions: who will be first, and who will end best, in each setting.

`predictions() -> dict`: {setting: {"first": way, "best": way}}. The claim: an answer of the names
given to each question, whichever it is. Whether it comes true is the report's matter; that it was
written down before the results, the logbook's.
"""

from collections.abc import Iterator
from typing import Any

from helpers.checks.compare import describe, listing
from helpers.checks.drives.calling import plain_call
from helpers.checks.spec import Case, Exercise, Observation, Size
from helpers.checks.table import wrong_answers

WAYS = ("synchronous", "asynchronous", "spare replicas", "local steps", "vertical slices")
SETTINGS = ("processes", "hosts", "clock")
QUESTIONS = ("first", "best")


def cases(seed: int) -> list[Case]:
    """There is nothing to vary: predictions are the learner's own."""
    return [Case("In your predictions", ((),))]


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """Each question has one of the ways for an answer."""
    said = seen.values[0]
    if type(said) is not dict:
        yield f"you gave {describe(said)}; a dictionary by setting was asked for."
    for setting in SETTINGS:
        given = said.get(setting)
        if given is None:
            yield f"there is nothing for {setting!r}."
        if type(given) is not dict:
            yield (
                f"{setting!r} has {describe(given)}; a dictionary was asked for, with 'first' and "
                "'best'."
            )
        for question in QUESTIONS:
            answer = given.get(question)
            gave = f"{answer!r}" if isinstance(answer, str) else describe(answer)
            if answer is None:
                yield f"{question!r} of {setting!r} is still open."
            if answer not in WAYS:
                yield f"{question!r} of {setting!r} is {gave}; the ways are {listing(WAYS)}."


def compared(case: Case, seen: Observation) -> Any:
    """What is not answered: whoever leaves the same open makes the same mistake."""
    said, found = seen.values[0], list[Any]()
    for setting in SETTINGS if type(said) is dict else ():
        given = said.get(setting)
        known = type(given) is dict
        answers = map(given.get, QUESTIONS) if known else ()
        kinds = [each in WAYS if type(each) is str else type(each).__name__ for each in answers]
        found.append(kinds)
        found.append(type(given).__name__)
    return found or type(said).__name__


def predictions() -> dict[str, dict[str, str]]:
    """The reference: somebody's."""
    return {
        "processes": {"first": "synchronous", "best": "synchronous"},
        "hosts": {"first": "spare replicas", "best": "synchronous"},
        "clock": {"first": "asynchronous", "best": "spare replicas"},
    }


WRONG = """
one setting is left out
    | "clock": {"first": "asynchronous", "best": "spare replicas"}, =>
    there is nothing for the clock. Each of the three settings wants a prediction: processes, hosts
    and clock.
who ends best is open
    | return { => return dict.fromkeys(SETTINGS, {"first": "asynchronous"}); {
    only who is first is predicted. Who ends best is another question, and often has another answer.
short names
    | return { => return dict.fromkeys(SETTINGS, {"first": "async", "best": "sync"}); {
    ways have other names here. Write them as the table does: synchronous, asynchronous, spare
    replicas, local steps, vertical slices.
one list
    | return { => return ["synchronous", "asynchronous", "spare replicas"]; {
    you gave a list. A dictionary was asked for, by setting, so that the report can look each
    prediction up.
open
    | return { => return dict.fromkeys(SETTINGS, {"first": None, "best": None}); {
    all of it is still open. There is no wrong prediction, only a missing one.
"""

EXERCISE = Exercise(
    number="18.1",
    title="Predictions",
    size=Size(stars=1, minutes=10, points=1),
    function="predictions",
    asks=(
        "a dictionary: for each of “processes”, “hosts” and “clock” the way that you expect to be "
        "“first” at the target, and the one that ends “best”."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    compared=compared,
    praise="Passed: they are complete. Whether they are right nobody knows yet.",
    reference=predictions,
    wrong=wrong_answers("18.1", WRONG, predictions),
    ranked=False,
)
