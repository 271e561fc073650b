"""Questions that an author asks about a playbook, on the command line or as `x-assert`.

    reachable(x)           some run starts x
    never(a and b)         a and b never run at once; of one name: it never runs twice at once
    always(x before y)     y never starts before x has started
    every run reaches x    no run ends, gets stuck, or goes round for ever, without starting x; one that a failure ends
                           which no arc takes is not counted (`reaching`)
    at most N of x         x starts at most N times in a run

x, a, b name a step, or a task as `step.task`. A name may stand in quotes or backticks.
"""

import re
from typing import TypeAlias

from noetl_ir.nearest import nearest
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple


class Reachable(NamedTuple):
    """`reachable(x)`."""

    x: str


class NeverBoth(NamedTuple):
    """`never(a and b)`."""

    a: str
    b: str


class Before(NamedTuple):
    """`always(x before y)`."""

    x: str
    y: str


class Reaches(NamedTuple):
    """`every run reaches x`."""

    x: str


class AtMost(NamedTuple):
    """`at most times of x`."""

    times: int
    x: str


Query: TypeAlias = Reachable | NeverBoth | Before | Reaches | AtMost

MAX_TIMES = 1_000


class QueryError(Exception):
    """A query that cannot be read, or names what is not there."""


class QuerySubject(NamedTuple):
    """The meaning of a name: a step, or a task of one when `task` is not -1 (both indices of the plan's tables)."""

    step: int
    task: int


_NAME = r"(?P<{}>`[^`]+`|'[^']+'|\"[^\"]+\"|[^\s()`'\"]+)"
_FORMS = (
    r"reachable\s*\(\s*" + _NAME.format("x") + r"\s*\)",
    r"never\s*\(\s*" + _NAME.format("a") + r"\s+and\s+" + _NAME.format("b") + r"\s*\)",
    r"always\s*\(\s*" + _NAME.format("x") + r"\s+before\s+" + _NAME.format("y") + r"\s*\)",
    r"every\s+run\s+reaches\s+" + _NAME.format("x"),
    r"at\s+most\s+(?P<count>\d{1,6})\s+of\s+" + _NAME.format("x"),
)


def query_of(text: str) -> Query:
    """The query that a text is; raises QueryError."""
    for number, form in enumerate(_FORMS):
        match = re.fullmatch(form, text.strip())
        if match is None:
            continue
        names = {key: value.strip("`'\"") for key, value in match.groupdict().items()}
        match number:
            case 0:
                return Reachable(names["x"])
            case 1:
                return NeverBoth(names["a"], names["b"])
            case 2:
                return Before(names["x"], names["y"])
            case 3:
                return Reaches(names["x"])
            case _:
                # Counting puts so many tokens into the net, and the number is whoever's who wrote the query.
                if int(names["count"]) > MAX_TIMES:
                    raise QueryError(f"{text!r} counts further than {MAX_TIMES}")
                return AtMost(int(names["count"]), names["x"])
    raise QueryError(
        f"{text!r} is no query; write reachable(x), never(a and b), always(x before y), "
        "every run reaches x, or at most N of x"
    )


def checked_query(plan: Plan, text: str) -> Query:
    """The query that a text is, whose names are in the plan; raises QueryError."""
    query = query_of(text)
    for name in query:
        if isinstance(name, str):
            subject_of(plan, name)
    return query


def subject_of(plan: Plan, name: str) -> QuerySubject:
    """The meaning of a name in a query; raises QueryError."""
    for number, step in enumerate(plan.steps):
        if step.name == name:
            return QuerySubject(number, -1)
    tasks = [f"{plan.steps[task.step].name}.{task.name}" for task in plan.tasks]
    if name in tasks:
        number = tasks.index(name)
        return QuerySubject(plan.tasks[number].step, number)
    near = nearest(name, (*(step.name for step in plan.steps), *tasks))
    hint = f"; did you mean `{near}`?" if near else ""
    raise QueryError(f"there is no step `{name}`, and no task that is written `step.task` so{hint}")
