"""Wrong answers as a table of text: most are an exercise's own answer with something exchanged.

    never waits
        | comm.send( => comm.isend(
        ? returned without waiting for
    the root sends to everybody
        = naive
        the root sent all {others} messages itself; {rounds} are its part.

A name at the margin, and below it, further in, what it does and what it is told:

    | old => new     that piece of the answer's text, which occurs just once, is another
    | old *=> new    wherever it occurs, once or more often
    = name           a function that is handed over: another idea
    a sentence       what is said, as `WrongAnswer.says` has it, with {numbers}
    ! name           what is said: what another answer is told, or a text or a function that is
                     handed over
    ? a piece        a family of `mistakes` recognises it: a piece of what that says

Lines still further in go on with the line before. Blanks and the ends of lines in an old piece
stand for any blanks. A line that begins with # is nobody's. What several exercises of a lesson have
in common is a table of its own, and theirs is a sum, `WRONG + SHARED`.
"""

from __future__ import annotations
import __future__

import inspect
import linecache
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from helpers.checks.released import is_left_out, left_out
from helpers.checks.spec import Look, WrongAnswer

Function = Callable[..., Any]
MARKS = "|=?!"
_INDENT = 4


class TableError(ValueError):
    """A table that cannot be read; the message names the exercise, the answer and the line."""


@dataclass
class Entry:
    """One wrong answer of a table. line: where its name stands. marked: by mark, what stands behind
    it, and in which line."""

    name: str
    line: int
    marked: dict[str, list[tuple[str, int]]] = field(
        default_factory=lambda: {mark: [] for mark in (*MARKS, "")}
    )

    @property
    def sentence(self) -> str:
        """What is said, in one line."""
        return " ".join(text for text, _ in self.marked[""])


class Answers(tuple[WrongAnswer, ...]):
    """An exercise's wrong answers. base: what their patches change, the answer first."""

    base: tuple[Function, ...] = ()


def wrong_answers(
    number: str,
    table: str,
    base: Function | Sequence[Function],
    *named: Function,
    **said: str | Look,
) -> Answers:
    """The wrong answers of an exercise such as "02.2".

    base: the answer that is patched, a function or a class; behind it, others that it needs, if
    they are patched, too. named: the functions that the table names. said: texts and
    functions that make them, by the name in the table. Raises TableError.
    """
    parts = tuple(base) if isinstance(base, Sequence) else (base,)
    words = {**{function.__name__: function for function in named}, **said}
    made: dict[str, WrongAnswer] = {}
    found = list(entries(number, table))
    told = {entry.name: entry.sentence for entry in found if entry.sentence}
    for entry in found:
        if entry.name in made:
            raise _error(number, entry, entry.line, "the name stands there twice.")
        made[entry.name] = _answer(number, entry, parts, words, told)
    answers = Answers(made.values())
    answers.base = parts
    return answers


def entries(number: str, table: str) -> Iterator[Entry]:
    """What a table holds, read but not looked at."""
    entry: Entry | None = None
    last: tuple[str, int] | None = None  # a mark, and where in its list the line before stands
    for at, line in enumerate(textwrap.dedent(table).splitlines(), 1):
        text, indent = line.strip(), len(line) - len(line.lstrip())
        if not text or line.startswith("#"):
            continue
        if indent == 0:
            if entry is not None:
                yield entry
            entry, last = Entry(text, at), None
            continue
        if entry is None:
            raise TableError(
                f"Exercise {number}, line {at} of its table: `{text}` stands under no name. An "
                "answer begins with its name, at the margin."
            )
        if indent > _INDENT and last is not None:
            before, begun = entry.marked[last[0]][-1]
            entry.marked[last[0]][-1] = f"{before} {text}", begun
            continue
        mark = text[0] if text[0] in MARKS and text[1:2] in ("", " ") else ""
        entry.marked[mark].append((text[1:].strip() if mark else text, at))
        last = mark, at
    if entry is not None:
        yield entry


def _answer(
    number: str,
    entry: Entry,
    base: tuple[Function, ...],
    words: Mapping[str, Any],
    told: Mapping[str, str],
) -> WrongAnswer:
    """One wrong answer; of a copy without answers, its function stands for itself."""
    patches, others, pieces, looks = (entry.marked[mark] for mark in MARKS)
    if len(pieces) + len(looks) + bool(entry.sentence) != 1:
        what = "nothing says" if not (pieces or looks) else "more than one line says"
        why = f"{what} what it is told: a sentence, `! name` or `? piece`."
        raise _error(number, entry, entry.line, why)
    if others and (patches or len(others) > 1):
        raise _error(number, entry, others[-1][1], "it is one function, or patches, and not both.")
    if others:
        function = _named(number, entry, others[0], words)
    elif patches:
        function = patched(number, entry, base)
    elif is_left_out(base[0]):
        function = left_out("wrong answer")
    else:
        why = "nothing says what it does: patches, `| old => new`, or `= function`."
        raise _error(number, entry, entry.line, why)
    says = entry.sentence
    if looks:
        says = told.get(looks[0][0]) or _named(number, entry, looks[0], words)
    return WrongAnswer(entry.name, function, says, pieces[0][0] if pieces else "")


def _named(number: str, entry: Entry, line: tuple[str, int], words: Mapping[str, Any]) -> Any:
    name, at = line
    if name not in words:
        known = ", ".join(f"`{word}`" for word in words) or "none"
        why = f"there is no `{name}` here. Hand it over behind the table; there are: {known}."
        raise _error(number, entry, at, why)
    return words[name]


def patched(number: str, entry: Entry, base: tuple[Function, ...]) -> Function:
    """The answer with its text changed, in modules like its own.

    Its attribute `patched` holds the texts of what was patched, each with its module's name.
    """
    texts = [textwrap.dedent(inspect.getsource(part)) for part in base]
    where = ", ".join(f"`{part.__name__}` of {part.__module__}" for part in base)
    for patch, at in entry.marked["|"]:
        texts = _exchanged(number, entry, at, patch, texts, where)
    names = {part.__module__: dict(vars(import_module(part.__module__))) for part in base}
    own = names[base[0].__module__]
    for part, text in zip(reversed(base), reversed(texts), strict=True):
        here = names[part.__module__]
        _run(number, entry, part.__name__, text, here)
        own[part.__name__] = here[part.__name__]
    function: Any = own[base[0].__name__]
    function.patched = tuple(zip((part.__module__ for part in base), texts, strict=True))
    made: Function = function
    return made


def _run(number: str, entry: Entry, name: str, text: str, names: dict[str, Any]) -> None:
    """Define a function or a class of a changed text, whose lines tracebacks can show."""
    file = f"<{number}, {entry.name}: {name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    flags = __future__.annotations.compiler_flag
    try:
        exec(compile(text, file, "exec", flags=flags, dont_inherit=True), names)
    except SyntaxError as error:
        broken = (error.text or "").strip()
        why = f"with its patches, `{name}` is no Python any more: {error.msg}, `{broken}`."
        raise _error(number, entry, entry.marked["|"][-1][1], why) from None


def _exchanged(
    number: str, entry: Entry, at: int, patch: str, texts: Sequence[str], where: str
) -> list[str]:
    """Texts with one patch. where: whose they are. Raises TableError where it does not fit."""
    old, arrow, new = patch.partition("=>")
    if not arrow or not old.strip(" *"):
        raise _error(number, entry, at, f"`{patch}` is no patch: write `old => new`.")
    everywhere = old.endswith("*")
    pieces = old.removesuffix("*").split()
    pattern = r"\s+".join(map(re.escape, pieces))
    found = sum(len(re.findall(pattern, text)) for text in texts)
    if found != 1 and not (everywhere and found):
        times = "does not occur" if not found else f"occurs {found} times"
        instead = "" if not found else " Take more of its line, or `*=>` for all of them."
        raise _error(number, entry, at, f"`{' '.join(pieces)}` {times} in {where}.{instead}")
    return [re.sub(pattern, lambda match: new.strip(), text) for text in texts]


def _error(number: str, entry: Entry, at: int, why: str) -> TableError:
    return TableError(f"Exercise {number}, “{entry.name}”, line {at} of its table: {why}")
