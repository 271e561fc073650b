"""lower_inclusive_case: an inclusive `case` becomes a firing set and guarded segments (LANGUAGE §6, case §1–2).

    case_mode: inclusive, case: [{when: g, then: [a]}, {when: h, then: [b, next x]}, {when: k, then: [c]}]
        →  tool             iter.__case0 = g, iter.__case1 = h, iter.__case2 = k: all guards are asked first
           __s__case0       on when iter.__case0, else jump to __s__case1
           a
           __s__case0__merge   jump to __s__case1
           __s__case1       …
           b
           __s__case1__merge   iter.__route = case1 if it is unset; jump to __s__merge: `end_step` skips the rest
           …
           __s__merge

`break_chain` goes on with the next segment instead, and `defer` with its own chain: of deferred routes the highest
`priority` wins, then the first.
"""

from noetl_ir.expr import Const, Expr
from noetl_ir.records import NamedTuple
from noetlc.ast.bodies import Tasks, taken_of
from noetlc.ast.playbook import Arc, Guard, Pairs, Playbook, Router, Rule, Step, Task, Value
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.generated import computed, constant, generated_name, guard, guard_as_value, jump, noop
from noetlc.expr.shorthand import (
    FALSE,
    OUTCOME_ERROR,
    OUTCOME_OK,
    TRUE,
    both,
    chosen,
    compared,
    defined,
    either,
    equal,
    negated,
    otherwise,
    path,
)
from noetlc.older.branching import behind, branch_arcs, branch_name
from noetlc.older.case.nodes import Case, CaseRule, Route
from noetlc.older.case.retries import as_set, only_repeats, repeated
from noetlc.older.case.routes import ARGS, ROUTE, about_tool, after_loop, carried_first
from noetlc.older.case.rules import (
    Policy,
    Ready,
    apart,
    in_chain,
    in_order,
    is_for_loop,
    keeping,
    later_guard,
    merged_result,
    of_now,
    policy_of,
    ready,
    repeated_chain,
    sets_first,
    split,
    unmatched,
)
from noetlc.older.case.settings import case_with_settings, route_of
from noetlc.older.case.waits import guard_when_called, tool_before_wait, waiting_again, when_called
from noetlc.older.legacy_names import declared_in, declared_names

BY = "lower_inclusive_case"
PRIORITY = f"{ROUTE}__priority"


def lower_inclusive_case(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook without any `case` that is inclusive."""
    known = declared_names(playbook)
    made: dict[str, list[Step]] = {}
    steps = []
    for step in playbook.steps:
        case, rest = taken_of(step, Case)
        if case is not None:
            case, rest = case_with_settings(rest, case)
        if case is None or case.mode != "inclusive":
            steps.append(step)
            continue
        record(Change(BY, case.span, "`case` (inclusive)", "safe", "a firing set and guarded segments"))
        own = declared_in(step, known)
        steps.append(_Segments(rest, about_tool(rest, apart(rest, case), own), own, made).step())
    return playbook._replace(steps=behind(tuple(steps), made))


class _Segments(NamedTuple):
    """One step with its case."""

    old: Step
    case: Case
    known: frozenset[str]
    made: dict[str, list[Step]]

    def step(self) -> Step:
        """The step without its case."""
        step = self.old
        ordered = in_order(self.case)
        first, main, after = split(step)
        policy = policy_of(main)
        rules = [ready(step, number, rule) for number, rule in ordered if not is_for_loop(rule, step)]
        merge = generated_name(step.name, "merge")
        arcs: dict[int, list[Arc]] = {}
        segments: list[Task] = []
        for position, rule in enumerate(rules):
            onward = self._head(rules[position + 1]) if position + 1 < len(rules) else merge
            segments += self._segment(main, rule, onward, merge, arcs.setdefault(rule.number, []))
        ok, span, waits = policy.ok, self.case.span, self.case.eval == "on_event"
        # What stands behind the tool, or is set by it, may be read by the guards. The firing set is made behind it
        # then.
        later = bool(after) or (sets_first(ok) and not waits)
        # All guards are decided at once, on the tool's outcome: what an earlier segment sets must not make a later
        # rule fire.
        fired = self._flags(rules, [self._asked(rule, main, later=later) for rule in rules])
        sets = ok.set_ctx if ok is not None else ()
        start = self._head(rules[0]) if rules else merge
        failing = self._failing(rules, start)
        if later:
            dispatch: Tasks = (noop(generated_name(step.name, "case"), span, (jump(start, span, set_iter=fired),)),)
            done = Rule(guard(OUTCOME_OK, span), "continue", span, set_ctx=sets)
        else:
            dispatch = ()
            done = jump(start, span, when=guard(OUTCOME_OK, span), set_iter=fired)._replace(set_ctx=sets)
        own = ok.set_iter if ok is not None else ()
        done = done._replace(set_iter=(*own, *done.set_iter))
        served = self._waiting(main, rules, done) if waits else (done,)
        asked = of_now((*self._repeating(policy, rules), *failing, *served), main)
        tool = main._replace(rules=(*policy.before, *asked, unmatched(policy, merge, span)))
        tool = keeping(tool, (*segments, *dispatch), self.case)
        first = self._when_called(first, rules, start, (tool, *segments))
        end = merged_result(main, merge, tuple(segments), after=after, tool=self.case.tool)
        tasks = (*first, tool, *after, *dispatch, *segments, end)
        ends = {number: self._loop_arcs(number, rule) for number, rule in ordered if is_for_loop(rule, self.old)}
        taken = [arc for number, _ in ordered for arc in (arcs | ends)[number]]
        routed = (*taken, *(step.router.arcs if step.router is not None else ()))
        return step._replace(tasks=tasks, router=Router("exclusive", routed, span) if routed else None)

    def _when_called(self, first: Tasks, rules: list[Ready], start: str, tasks: Tasks) -> Tasks:
        """The tasks before a wait: the firing set is asked first of what the tool did."""
        at = next((task for task in first if task.name == self.case.tool), None)
        if at is None:
            return first
        span = self.case.span
        own = [when_called(rule) for rule in rules]
        asked = [FALSE if (when := guard_when_called(one, self.known)) is None else when.expr for one in own]
        dispatch: Tasks = ()
        if any(expr != FALSE for expr in asked):
            fires = [expr for expr in asked if expr != FALSE]
            when = None if TRUE in fires else guard(either(*fires), span)
            rule = jump(start, span, when=when, set_iter=self._flags(own, asked, other=FALSE))
            onward = () if when is None else (Rule(None, "continue", span),)
            dispatch = (noop(generated_name(self.old.name, "called"), span, (rule, *onward)),)
        tool = tool_before_wait(at, self._failing(own, start), (*tasks, *dispatch), self.case)
        return (*(tool if task is at else task for task in first), *dispatch)

    def _repeating(self, policy: Policy, rules: list[Ready]) -> list[Rule]:
        """The rules that repeat the tool come before anything fires; used up, the rule fires as any other does."""
        found: list[Rule] = []
        for rule in rules:
            for outcome, asked in ((OUTCOME_OK, as_set(rule.success, policy)), (OUTCOME_ERROR, rule.failure)):
                when = guard(outcome if asked == TRUE else both(outcome, asked), rule.rule.span)
                retry = repeated(rule, when) if asked != FALSE else None
                found += [] if retry is None else [retry]
        return found

    def _waiting(self, main: Task, rules: list[Ready], done: Rule) -> tuple[Rule, ...]:
        """The rules of a wait: it goes on for an event that some rule takes, and waits again for any other."""
        if any(rule.success == TRUE for rule in rules):
            return (done,)
        fires = guard(both(OUTCOME_OK, either(*(rule.success for rule in rules))), self.case.span)
        again = waiting_again(main.name, self.case.timeout, self.case.span)
        return (done._replace(when=fires), again._replace(when=guard(OUTCOME_OK, self.case.span)))

    def _head(self, rule: Ready) -> str:
        return generated_name(self.old.name, rule.label)

    def _asked(self, rule: Ready, main: Task, *, later: bool) -> Expr:
        """The guard of a rule on success; FALSE where it is not about that."""
        if not later:
            return rule.success
        found = later_guard(rule, main, self.known)
        return FALSE if found is None else found.expr

    def _flags(self, rules: list[Ready], asked: list[Expr], other: Expr | None = None) -> Pairs:
        """The firing set: a truth value for each rule; `else` fires where no other does, or as `other` says."""
        span = self.case.span
        others = [expr for rule, expr in zip(rules, asked, strict=True) if rule.rule.when is not None and expr != FALSE]
        pairs = []
        for rule, expr in zip(rules, asked, strict=True):
            if rule.rule.when is None:
                expr = other or (negated(either(*others)) if others else TRUE)
            value = constant(expr == TRUE, span) if expr in (TRUE, FALSE) else computed(_truth(expr), span)
            pairs.append((_flag(rule), value))
        return tuple(pairs)

    def _failing(self, rules: list[Ready], start: str) -> tuple[Rule, ...]:
        """The rules of the tool for a failure that rules are about."""
        about = [rule for rule in rules if rule.failure != FALSE and not only_repeats(rule)]
        if not about:
            return ()
        span = self.case.span
        flags = []
        for rule in rules:
            expr = rule.failure
            value = constant(expr == TRUE, span) if expr in (TRUE, FALSE) else computed(_truth(expr), span)
            flags.append((_flag(rule), value))
        any_of = either(*(rule.failure for rule in about))
        when = OUTCOME_ERROR if any(rule.failure == TRUE for rule in about) else both(OUTCOME_ERROR, any_of)
        return (jump(start, span, when=guard(when, span), set_iter=tuple(flags)),)

    def _segment(self, main: Task, rule: Ready, onward: str, merge: str, arcs: list[Arc]) -> list[Task]:
        """A test of its flag, its chain up to what ends it, and a jump."""
        step, span = self.old, rule.rule.span
        asked = guard(path("iter", _flag(rule)), span)
        found = [noop(self._head(rule), span, (Rule(asked, "continue", span), jump(onward, span)))]
        if rule.sets is not None:
            sets = noop(generated_name(step.name, rule.label, "set"), span, (rule.sets,))
            found += in_chain(self.old, (sets,), self.known)
        chain = repeated_chain(step, rule, in_chain(self.old, rule.tasks, self.known))
        end, patch = onward, tuple[tuple[str, Value], ...]()
        count = 0
        for task in chain:
            route = route_of(task)
            if route is None:
                found.append(task)
                continue
            label = rule.label if not count else f"{rule.label}__next{count}"
            count += 1
            arcs += self._arcs_of(label, rule, route)
            # A deferred route lets its chain go on. All others end the chain here: tasks behind them never run.
            if route.policy == "defer":
                found += in_chain(self.old, (self._deferred(task, label, route),), self.known)
                continue
            patch = (
                (ROUTE, computed(otherwise(path("iter", ROUTE), Const(label)), route.span)),
                *carried_first(route),
            )
            end = merge if route.policy == "end_step" else onward
            break
        last = generated_name(step.name, rule.label, "merge")
        ending = in_chain(self.old, (noop(last, span, (jump(end, span, set_iter=patch),)),), self.known)
        return [*found, *ending]

    def _deferred(self, task: Task, label: str, route: Route) -> Task:
        """A route that is recorded if it is the first or of a higher priority; the chain goes on."""
        span, here = route.span, path("iter", ROUTE)
        higher = compared(Const(route.priority), ">", path("iter", PRIORITY))
        # Only a higher priority replaces what is recorded, so that the first of equals stays.
        when = guard(either(negated(defined(here)), higher), span)
        args = () if route.carried is None else ((ARGS, route.carried),)
        patch = ((ROUTE, constant(label, span)), (PRIORITY, constant(route.priority, span)), *args)
        rules = (Rule(when, "continue", span, set_iter=patch), Rule(None, "continue", span))
        return noop(task.name, span, rules)

    def _arcs_of(self, label: str, rule: Ready, route: Route) -> tuple[Arc, ...]:
        when = guard(equal(path("iter", ROUTE), label), route.span)
        return self._routed(label, rule, route, when)

    def _routed(self, label: str, rule: Ready, route: Route, when: Guard | None) -> tuple[Arc, ...]:
        name = branch_name(self.old.name, "case", rule.number)
        suffix = label.removeprefix(rule.label)
        arcs, forks = branch_arcs(f"{name}{suffix}", route.arcs, when, route.span)
        self.made.setdefault(self.old.name, []).extend(forks)
        return arcs

    def _loop_arcs(self, number: int, rule: CaseRule) -> list[Arc]:
        """The arcs of a rule for the end of the loop."""
        made = ready(self.old, number, rule)
        if made.work or made.sets is not None:
            arc, between = after_loop(self.old, made, rule.when, self.known)
            self.made.setdefault(self.old.name, []).append(between)
            return [arc]
        return [] if made.route is None else list(self._routed(made.label, made, made.route, rule.when))


def _flag(rule: Ready) -> str:
    return f"__{rule.label}"


def _truth(expr: Expr) -> Expr:
    return chosen(guard_as_value(expr), TRUE, Const(False))
