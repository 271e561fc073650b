"""How often a loop made of jumps goes round, where a counter in `iter` says so.

    rules: [{when: "{{ iter.page < 9 }}", then: {do: jump, to: fetch, set_iter: {page: "{{ iter.page + 1 }}"}}}, …]

A counter of some tasks is a key of `iter` that they only ever make larger, by a written number. A way from one task to
the next asks it where it is taken only while the counter lies below something: because its rule says so, or because a
rule before it, which did not match, says the opposite. `while` and `until` are lowered to that.
"""

from collections.abc import Iterator, Sequence
from math import ceil

from noetl_ir.expr import Attribute, Binary, Compare, Const, Expr, Filter, Literal, Name, Native, Template
from noetl_ir.plan import Plan, Rule, Task
from noetl_ir.records import NamedTuple
from noetlc.analysis.formulas import Formula, number, plus
from noetlc.analysis.sizes import Sizes
from noetlc.analysis.trials import guard_of
from noetlc.expr.shorthand import conjuncts

END = -1
"""The way out of a pipeline."""


class RuleWay(NamedTuple):
    """A way from the task `source` to the task `target` (or `END`), by the rule of that number of `source`.

    `rule` is the number of rules where the way is taken because none matched.
    """

    source: int
    target: int
    rule: int


class CounterRead(NamedTuple):
    """A read of a counter plus a number: `iter.key + more`; `least` is what it is where nothing was written yet."""

    key: str
    more: int
    least: int | None


def ways_of(plan: Plan, tasks: Sequence[int]) -> list[RuleWay]:
    """How a token may go on through a pipeline; a retry goes nowhere."""
    found: list[RuleWay] = []
    for number_ in tasks:
        task = plan.tasks[number_]
        for at, rule in enumerate(task.rules):
            if rule.directive == "jump":
                found.append(RuleWay(number_, rule.to, at))
            elif rule.directive != "retry":
                found.append(RuleWay(number_, task.following if rule.directive == "continue" else END, at))
        if not task.rules or task.passes_errors or task.rules[-1].when >= 0:
            found.append(RuleWay(number_, task.following, len(task.rules)))
    return list(dict.fromkeys(found))


class Counters:
    """The counters of one step."""

    def __init__(self, plan: Plan, sizes: Sizes, tasks: Sequence[int]) -> None:
        self._plan = plan
        self._sizes = sizes
        self._tasks = tasks

    def keys(self, inside: frozenset[int]) -> list[str]:
        """The keys that the tasks `inside` only count up."""
        written: dict[str, bool] = {}
        for key, template, task in self._writes():
            if task in inside:
                written[key] = written.get(key, True) and _grown(key, template) is not None
        return [key for key, counts in written.items() if counts]

    def counts(self, key: str, way: RuleWay) -> bool:
        """Whether a way counts the key up."""
        rule = self._rule(way)
        return rule is not None and any(name == key for name, _ in rule.set_iter)

    def below(self, key: str, way: RuleWay) -> Formula | None:
        """The bound that the counter is below where this way is taken."""
        rules = self._plan.tasks[way.source].rules
        asked = [] if way.rule >= len(rules) else self._conjuncts(rules[way.rule])
        for test in asked:
            found = self._limit(key, test, {"<": 0, "<=": 1})
            if found is not None:
                return found
        for before in rules[: way.rule]:
            if before.directive == "retry" or before.when < 0:
                continue
            tests = self._conjuncts(before)
            for test in tests:
                found = self._limit(key, test, {">=": 0, ">": 1})
                # A rule that did not match says the opposite of its guard. Of `a and b` that is known to be about `a`
                # only where `b` is known to hold, which it is when this rule asks it too.
                if found is not None and all(other is test or other in asked for other in tests):
                    return found
        return None

    def passes(self, key: str, inside: frozenset[int], limit: Formula) -> Formula | None:
        """How often a counter that is below `limit` each time, and larger each time, can have been asked."""
        starts, steps = list[int](), list[int]()
        for name, template, task in self._writes():
            if name != key:
                continue
            grown = _grown(key, template)
            if grown is not None:
                steps.append(grown.more)
                starts += [] if grown.least is None else [grown.least]
            elif isinstance(template, Literal) and isinstance(template.value, int) and task not in inside:
                starts.append(template.value)
            else:
                return None
        least = min(starts, default=0)
        most = limit.value({})
        if most is not None:
            return number(max(0, ceil((most - least) / min(steps))))
        # The limit is a size. Steps are at least one, so that it is asked no more often than from its start up to the
        # size.
        return limit if least >= 0 else plus((limit, number(-least)))

    def _writes(self) -> Iterator[tuple[str, Template, int]]:
        for task in self._tasks:
            for rule in self._plan.tasks[task].rules:
                for key, row in rule.set_iter:
                    yield key, self._plan.templates[row], task

    def _rule(self, way: RuleWay) -> Rule | None:
        task: Task = self._plan.tasks[way.source]
        return task.rules[way.rule] if way.rule < len(task.rules) else None

    def _conjuncts(self, rule: Rule) -> list[Expr]:
        if rule.when < 0:
            return []
        return list(conjuncts(guard_of(self._plan.templates[rule.when])))

    def _limit(self, key: str, test: Expr, ops: dict[str, int]) -> Formula | None:
        match test:
            case Compare(first=first, rest=((op, bound),)) if op in ops:
                read = _counted(first)
                # The bound must be on the counter itself. A guard about another key says nothing about how often this
                # one was asked.
                if read is None or read.key != key:
                    return None
                match bound:
                    # A bound that is no number (NaN) compares with nothing, and is no bound.
                    case Const(value=int() | float() as value) if value == value:
                        return number(max(0, ceil(value) + ops[op] - read.more))
                    case Filter(of=of, name="int") | of:
                        return plus((self._sizes.named(of), number(ops[op])))
        return None


def _grown(key: str, template: Template) -> CounterRead | None:
    """The increment that is written, when it is the key itself and more."""
    read = _counted(template.expr) if isinstance(template, Native) else None
    return read if read is not None and read.key == key and read.more > 0 else None


def _counted(expr: Expr) -> CounterRead | None:
    """`iter.key`, perhaps with a default and as a whole number, plus a written number."""
    more, least = 0, None
    while True:
        match expr:
            case Binary(op="+", left=left, right=Const(value=int() as value)) if more == 0 and value >= 0:
                more, expr = int(value), left
            case Binary(op="+", left=Const(value=int() as value), right=right) if more == 0 and value >= 0:
                more, expr = int(value), right
            case Filter(of=of, name="int", args=(), named=()):
                expr = of
            case Filter(of=of, name="default" | "d", args=(Const(value=int() as value),), named=()):
                least, expr = int(value), of
            case Attribute(of=Name(name="iter"), name=key):
                return CounterRead(key, more, least)
            case _:
                return None
