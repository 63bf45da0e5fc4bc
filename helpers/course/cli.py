"""The commands of `./course`. What a command does is imported when it is called."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Literal

import click

BENCHMARKS = (
    *("launch", "collectives", "data-parallel", "grade", "simulate", "published", "model-split"),
    *("bubble", "quantize", "hosts", "compress", "actors", "search", "checkpoints", "lessons"),
    "gpu",
)
PASS_ON = {"ignore_unknown_options": True, "allow_interspersed_args": True}


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96})
def course() -> None:
    """Learn distributed deep learning by building it, running it and measuring it."""


@course.command(context_settings=PASS_ON)
@click.option("--browser/--no-browser", default=True, help="Open a browser, or only say where.")
@click.option("--port", type=click.IntRange(1, 65535), help="The port; otherwise a free one.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def lab(browser: bool, port: int | None, options: tuple[str, ...]) -> int:
    """Open JupyterLab at the first lesson. Other OPTIONS go to JupyterLab."""
    from helpers.course.lab import lab as start

    return start(port, browser, options)


@course.command(context_settings=PASS_ON)
@click.option("--fast", is_flag=True, help="Run what starts no process and is not slow.")
@click.option("--all", "thorough", is_flag=True, help="Run what takes hours, or what is left.")
@click.option("--changed", is_flag=True, help="Run what differs since the tests last passed.")
@click.option("--lesson", metavar="NN", default="", help="Run what belongs to lesson NN.")
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def test(
    fast: bool, thorough: bool, changed: bool, lesson: str, pytest_args: tuple[str, ...]
) -> int:
    """Run every test: style, types, generated lessons, then pytest: first what starts no process.

    PYTEST_ARGS go to pytest. Where they name files or folders, only those are run.
    """
    from helpers.checks import lessons
    from helpers.course.testing import changed as changes
    from helpers.course.testing.run import Choice, run_tests

    if lesson and lesson not in lessons():
        raise click.ClickException(f"There is no lesson {lesson}, only {', '.join(lessons())}.")
    reach = None
    if changed:
        try:
            since = changes.base()
        except LookupError as error:
            raise click.ClickException(str(error)) from None
        reach = changes.reach(changes.differences(since))
        click.echo(changes.told(reach, since))
    return run_tests(Choice(fast, thorough, lesson, reach), pytest_args)


@course.command()
@click.option("--report", is_flag=True, help="Print a block for a bug report instead.")
def doctor(report: bool) -> int:
    """Show what this machine has, and what each missing thing costs you."""
    from helpers.course.bug_report import show as show_report
    from helpers.course.doctor import show

    return show_report() if report else show()


@course.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")
def progress(as_json: bool) -> int:
    """Show which exercises are done, their points, and what to go on with."""
    from helpers.course.progress import progress as show

    return show(as_json)


@course.command()
@click.option("--remove", is_flag=True, help="Take it away again, as long as no commit has it.")
@click.argument("lesson", metavar="NN")
@click.argument("name", metavar="NAME", default="")
def new(lesson: str, name: str, remove: bool) -> int:
    """Write a lesson to begin with: ./course new 19 my_subject. CONTRIBUTING.md goes on."""
    from helpers.course.build import new as lessons

    try:
        files = lessons.remove(lesson) if remove else lessons.new(lesson, name)
    except lessons.NotNew as error:
        raise click.ClickException(str(error)) from None
    did = "are gone" if remove else f"are there. Test them: ./course test --lesson {lesson}"
    click.echo("\n".join([*files, f"{len(files)} files, and a row in README.md, {did}."]))
    return 0


@course.command()
@click.argument("what", type=click.Choice(["record", "compare", "passing"]))
@click.argument("file", metavar="FILE")
@click.argument("names", nargs=-1, metavar="[NN | NN.k]...")
def verdicts(what: str, file: str, names: tuple[str, ...]) -> int:
    """Record what every answer to an exercise is told, and compare after a change of its spec.

    Answers are the course's own, the known wrong ones, right ones in another style, and mutants of
    the course's own; with passing, those of them in FILE that no case catches.
    """
    from helpers.course.paths import typed
    from tests.checks.verdicts import main as run

    return run([what, str(typed(file)), *names])


@course.command()
@click.option("--check", is_flag=True, help="Change nothing; fail where something is out of step.")
@click.option("--run", is_flag=True, help="Execute the solutions first and store their outputs.")
@click.argument("lessons", nargs=-1, metavar="[NN]...")
def build(check: bool, run: bool, lessons: tuple[str, ...]) -> int:
    """Make lessons/ from solutions/: all of them, or those of the numbers given (such as 02)."""
    from helpers.course.build.run import build as make

    return make(check=check, run=run, only=lessons)


@course.command()
@click.option("--lesson", metavar="NN", help="The lesson's number, such as 03.")
@click.option("--out", help="The folder for grades and pages.")
@click.option("--watch", is_flag=True, help="Go on with what arrives, until Ctrl-C.")
@click.option("--until-idle", type=click.FloatRange(min=1), metavar="SECONDS",
              help="With --watch: end when nothing has come for so long.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1, 512), help="At a time; otherwise one a core.")
@click.option("--shard", default="1/1", metavar="I/N", help="Only the I-th of N parts.")
@click.option("--sandbox", type=click.Choice(["bubblewrap", "none"]), default="bubblewrap",
              help="none: the submissions run with your rights.")  # fmt: skip
@click.option("--roster", help="The class list: Canvas's or Moodle's CSV, or a name a line.")
@click.option("--key", help="The file of the key behind the hidden cases; otherwise your own.")
@click.option("--mistakes", metavar="FILE", help="A table of your own class's mistakes.")
@click.argument("what", nargs=-1, required=True, metavar="FOLDER | stats OUT...")
def grade(what: tuple[str, ...], **options: Any) -> int:
    """Grade a folder of submissions: FOLDER/<student>/NN_name.ipynb or FOLDER/<student>.ipynb.

    Stopped at any moment, the same command goes on. With stats, the folders of several terms are
    compared.
    """
    from helpers.course.grade import grade as run

    return run(what, **options)


@course.command()
@click.argument("lesson", metavar="NN")
@click.option("--out", required=True, metavar="ZIP", help="The file to write.")
def release(lesson: str, out: str) -> int:
    """Make the ZIP that students get of lesson NN: no solutions, no hidden cases."""
    from helpers.course.paths import release as run

    return run(lesson, out)


@course.command()
@click.option("--out", default="", metavar="FOLDER", help="The folder to write; otherwise site/.")
def site(out: str) -> int:
    """Make static pages of the lessons and of docs/, without answers, to read or to serve."""
    from helpers.course.paths import site as run

    return run(out)


@course.command()
@click.argument("what", type=click.Choice(["up", "down", "status"]))
def cluster(what: Literal["up", "down", "status"]) -> int:
    """Start or end a SLURM of two nodes on this machine, or show what it does."""
    from helpers.course.cluster import cluster as run

    return run(what)


@course.command()
@click.argument("name", type=click.Choice([*BENCHMARKS, "all"]))
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")
@click.option("--save", is_flag=True, help="Keep the figures in the repository.")
@click.option("--again", is_flag=True, help="With all: measure what is kept, too.")
@click.option("--only-table", is_flag=True, help="With all: measure nothing.")
@click.option("--readme", is_flag=True, help="With all: write the README's tables and figures.")
def bench(name: str, as_json: bool, save: bool, again: bool, only_table: bool, readme: bool) -> int:
    """Measure the course's own code beside its peers, in one run on this machine.

    With all, every benchmark that is missing, then the table of what the parts must reach.
    Interrupted, the same command goes on. Figures are kept in your cache folder.
    """
    if name != "all":
        from benchmarks.run import main as measure

        if again or only_table or readme:
            raise click.ClickException("--again, --only-table and --readme go with: bench all.")
        return measure(name, as_json, save)
    from benchmarks import every

    if again and only_table:
        raise click.ClickException("--again measures, --only-table does not: give one of them.")
    return every.main(every.Wish(again, only_table, as_json, save, readme))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    try:
        code = course.main(
            args=list(sys.argv[1:] if arguments is None else arguments),
            prog_name="./course",
            standalone_mode=False,
        )
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except ModuleNotFoundError as error:
        left_out = ("helpers.grade", "helpers.course", "benchmarks", "tests")
        if not str(error.name).startswith(left_out):
            raise
        click.echo(
            "This is a learner's copy of the course, which leaves this command out.", err=True
        )
        return 2
    return code or 0


if __name__ == "__main__":
    sys.exit(main())
