"""lower_case: an exclusive `case` becomes arcs, or rules of the tool that jump to branches (LANGUAGE §6).

    case: [{when: "event.name == 'call.done' and ctx.x", then: [next a]}], next: b
        →  arcs: [{step: a, when: "event.name == 'step.done' and ctx.x"}, {step: b}]

    case: [{when: "response.ok", then: [{work: …}, next a]}], next: b
        →  tool                 when ok and outcome.result.ok: jump to work, iter.__route = case0;
                                when ok: jump to __s__merge; else fail
           work
           __s__case0__merge    jump to __s__merge
           __s__merge
           arcs: [{step: a, when: "iter.__route == 'case0'"}, {step: b}]

Rules for `step.exit` come behind those for `call.done`, and are asked again where one of these has run and routes
nowhere (`__s__exit`). In a loop the rules are asked in each iteration, and those for `loop.done` are arcs. For http,
rules for `call.error` come behind those for `call.done`: they are for what no such rule takes.
"""

from noetl_ir.expr import Const, Name
from noetl_ir.records import NamedTuple
from noetlc.ast.bodies import Tasks, taken_of
from noetlc.ast.playbook import Arc, Guard, Playbook, Router, Rule, Step, Task
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.generated import generated_name, guard, jump, noop
from noetlc.expr.shorthand import FALSE, OUTCOME_OK, TRUE, both, compared, either
from noetlc.expr.templates import rule_with
from noetlc.expr.unparse import unparse
from noetlc.older.branching import behind
from noetlc.older.case.as_arcs import as_arcs
from noetlc.older.case.entering import Entering, may_stand_before
from noetlc.older.case.nodes import Case, CaseRule, CaseSetting
from noetlc.older.case.retries import only_repeats, repeated, repetitions
from noetlc.older.case.routes import (
    about_tool,
    after_loop,
    carried,
    end_of,
    recorded_rule,
    route_arcs,
    takes,
)
from noetlc.older.case.rules import (
    Ready,
    apart,
    events_of,
    failures,
    in_chain,
    in_order,
    is_for_exit,
    is_for_loop,
    keeping,
    later_guard,
    meanings_behind,
    merged_result,
    of_now,
    only_routes,
    policy_of,
    ready,
    repeated_chain,
    sees_cause,
    sets_first,
    split,
    success_guard,
    unmatched,
)
from noetlc.older.case.settings import case_with_settings
from noetlc.older.case.surely import always_taken, of_success, without_route
from noetlc.older.case.waits import guard_when_called, tool_before_wait, waiting_again, when_called
from noetlc.older.legacy_names import declared_in, declared_names, renamed

BY = "lower_case"


def lower_case(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook without `case`."""
    known = declared_names(playbook)
    made: dict[str, list[Step]] = {}
    steps = []
    for step in playbook.steps:
        case, rest = taken_of(step, Case)
        if case is None:
            steps.append(step._replace(extras=tuple(e for e in step.extras if not isinstance(e, CaseSetting))))
            continue
        case, rest = case_with_settings(rest, case)
        # Names are made apart before anything is called after them: two branches with a task `save` would be one
        # otherwise.
        case = apart(rest, case)
        own = declared_in(step, known)
        lowered = _Lowered(rest, case, own, made, record)
        # Rules that only look at the event and route are arcs as they stand: the plain form, without a record of the
        # route.
        arcs_only = lowered.becomes_arcs
        plain = None if arcs_only else as_arcs(rest, case, own)
        if plain is not None:
            lowered, arcs_only = lowered._replace(case=plain), True
        if not arcs_only:
            lowered = lowered._replace(case=about_tool(rest, case, own))
        steps.append(lowered.step(arcs_only=arcs_only))
    return playbook._replace(steps=behind(tuple(steps), made))


class _Branch(NamedTuple):
    """A rule with the tasks of its branch; `target` is the task that a jump to it leads to, "" where there is none."""

    rule: Ready
    tasks: Tasks
    target: str


class _Lowered(NamedTuple):
    """One step with its case."""

    old: Step
    case: Case
    known: frozenset[str]
    made: dict[str, list[Step]]
    record: RecordChange

    def step(self, *, arcs_only: bool) -> Step:
        """The step without its case."""
        step = self.old
        rules = in_order(self.case)
        enter = [(n, rule) for n, rule in rules if events_of(rule) == {"step.enter"}]
        rules = [pair for pair in rules if pair not in enter]
        if self.case.eval == "on_entry":
            # The end of the call comes before the end of the step, and `else` is for what neither takes. The sort is
            # stable, so that the file's order holds within each.
            rules.sort(key=lambda pair: 2 if pair[1].when is None else is_for_exit(pair[1]))
        in_tool = [pair for pair in rules if not is_for_loop(pair[1], step)]
        always = None
        if not arcs_only:
            asked = [of_success(ready(step, number, rule), self.known) for number, rule in in_tool]
            always = always_taken(step, asked, policy_of(split(step)[1])) if self.case.eval == "on_entry" else None
            step = self._with_branches(step, asked)
            step = step if always is None else without_route(step)
        if enter:
            step = self._entered(step, [ready(step, number, rule) for number, rule in enter])
        arcs: list[Arc] = []
        for number, rule in rules if arcs_only else in_order(self.case):
            by_guard = arcs_only or is_for_loop(rule, self.old)
            if always is not None and number == always.number and always.route is not None:
                found, forks = route_arcs(self.old, always, always.route, None)
                self.made.setdefault(self.old.name, []).extend(forks)
                arcs += found
                break
            arcs += self._arcs(ready(self.old, number, rule), by_guard=by_guard)
        said = "guarded arcs" if arcs_only else "rules of the tool, branches of tasks, and arcs by the rule taken"
        review = self.old.loop is not None and any(self._routes(rule) for _, rule in in_tool)
        self.record(Change(BY, self.case.span, "`case`", "review" if review else "safe", said))
        router = step.router
        before = router.arcs if router is not None else ()
        if not arcs and not before:
            return step
        return step._replace(router=Router("exclusive", (*arcs, *before), self.case.span))

    @property
    def becomes_arcs(self) -> bool:
        """Whether its rules become arcs and nothing else."""
        if self.case.eval != "on_entry":
            return False
        others = [rule for rule in self.case.rules if events_of(rule) != {"step.enter"}]
        in_tool = [rule for rule in others if not is_for_loop(rule, self.old)]
        # Where the tool's errors are ignored, or their cause is read behind a retry, arcs would be asked about
        # another event than the rules were.
        if policy_of(split(self.old)[1]).ignores or any(sees_cause(self.old, rule) for rule in in_tool):
            return False
        return only_routes(in_tool) and (self.old.loop is None or not in_tool)

    def _routes(self, rule: CaseRule) -> bool:
        return ready(self.old, 0, rule).route is not None

    def _arcs(self, rule: Ready, *, by_guard: bool) -> list[Arc]:
        """The arcs of a rule: by its guard, or by what the run recorded."""
        route = rule.route
        if by_guard and self.old.loop is not None and (rule.work or rule.sets is not None):
            arc, between = after_loop(self.old, rule, rule.rule.when, self.known)
            self.made.setdefault(self.old.name, []).append(between)
            return [arc]
        if route is None or not route.arcs:
            return []
        arcs, forks = route_arcs(self.old, rule, route, rule.rule.when if by_guard else takes(rule))
        self.made.setdefault(self.old.name, []).extend(forks)
        return list(arcs)

    def _with_branches(self, step: Step, rules: list[Ready]) -> Step:
        first, main, after = split(step)
        merge, span, policy = generated_name(step.name, "merge"), self.case.span, policy_of(main)
        exit_name = generated_name(step.name, "exit") if self._asks_twice(rules) else ""
        ends = [exit_name if exit_name and _stays(rule) else merge for rule in rules]
        tasks = [self._branch(rule, main, end) for rule, end in zip(rules, ends, strict=True)]
        branches = tuple(task for branch in tasks for task in branch)
        made = [
            _Branch(rule, own, own[0].name if own else end if branches or end != merge else "")
            for rule, own, end in zip(rules, tasks, ends, strict=True)
        ]
        # With no branch at all there is nothing to meet, and the step ends where the tool does.
        target = merge if branches else ""
        if exit_name and any(_stays(rule) and rule.success == TRUE for rule in rules):
            first_asked = [one for one in made if not is_for_exit(one.rule.rule)]
        else:
            first_asked = made
        waits = self.case.eval == "on_event"
        # What stands behind the tool, and what it sets, comes first: rules about success are asked behind it.
        if after or (sets_first(policy.ok) and not waits):
            asked = [
                (one, when) for one in first_asked if (when := later_guard(one.rule, main, self.known)) is not None
            ]
            taking = [rule for one, when in asked for rule in _taking(self._behind(one), when)]
            done = [rule for rule in taking if waits or rule.directive != "retry"]
            done = [rule._replace(when=None) if rule.when and rule.when.expr == TRUE else rule for rule in done]
            rest = jump(merge, span) if branches else Rule(None, "continue", span)
            dispatch: Tasks = (noop(generated_name(step.name, "case"), span, _until_else((*done, rest))),)
            going = Rule(guard(OUTCOME_OK, span), "continue", span)
            onward = self._served(main, rules) if waits else (*repetitions(policy, rules), going)
        else:
            asked = [(one, when) for one in first_asked if (when := success_guard(one.rule)) is not None]
            done, dispatch = [rule for one, when in asked for rule in _taking(one, when)], ()
            end = jump(merge, span) if branches else Rule(None, "continue", span)
            if waits:  # what no rule takes is waited for again
                end = waiting_again(main.name, self.case.timeout, span)
            onward = (*done, *_rest(done, end._replace(when=guard(OUTCOME_OK, span))))
        by_label = {one.rule.label: one for one in made}
        failing = [rule for one, when in failures(rules) for rule in _taking(by_label[one.label], when)]
        patched = (rule if rule.to == main.name else _patched(rule, policy.ok) for rule in of_now(onward, main))
        every = (*policy.before, *of_now(failing, main), *patched, unmatched(policy, target, span))
        tool = main._replace(rules=_until_else(every))
        leaving = self._leaving(exit_name, main, made, target) if exit_name else ()
        branches = (*branches, *leaving)
        tool = keeping(tool, (*branches, *dispatch), self.case)
        end_task: Tasks = (merged_result(main, merge, branches, after=after, tool=self.case.tool),) if branches else ()
        first = self._when_called(first, made, (tool, *branches))
        return step._replace(tasks=(*first, tool, *after, *dispatch, *branches, *end_task))

    def _asks_twice(self, rules: list[Ready]) -> bool:
        """Whether rules about the end of the step must be asked again, behind a branch of a rule about the end of the
        call that routes nowhere.
        """
        if self.case.eval != "on_entry":
            return False
        leaving = [rule for rule in rules if is_for_exit(rule.rule)]
        return bool(leaving) and all(rule.rule.again is None for rule in leaving) and any(map(_stays, rules))

    def _leaving(self, name: str, main: Task, made: list[_Branch], merge: str) -> Tasks:
        """The task behind branches that stay in the step: the rules about its end are asked, if it succeeded."""
        may_fail = any(_stays(one.rule) and one.rule.failure != FALSE for one in made)
        leaving = [one.rule for one in made if is_for_exit(one.rule.rule)]
        if may_fail:
            leaving = [
                rule._replace(success=OUTCOME_OK if rule.success == TRUE else both(OUTCOME_OK, rule.success))
                for rule in leaving
            ]
        by_label = {one.rule.label: one for one in made}
        asked = [(by_label[rule.label], later_guard(rule, main, self.known)) for rule in leaving]
        found = [rule for one, when in asked if when is not None for rule in _taking(self._behind(one), when)]
        done = [rule._replace(when=None) if rule.when and rule.when.expr == TRUE else rule for rule in found]
        span = self.case.span
        rest = jump(merge, span) if merge else Rule(None, "continue", span)
        return (noop(name, span, _until_else((*done, rest))),)

    def _behind(self, branch: _Branch) -> _Branch:
        """A branch that begins in a task behind the tool, with values that read the outcome that the tool kept."""
        sets = branch.rule.sets
        if sets is None:
            return branch
        # In the tool's own policy `result` is `outcome.result`. One task further, `outcome` is that of another task.
        sets = rule_with(sets, renamed(meanings_behind(self.old), self.known))
        return branch._replace(rule=branch.rule._replace(sets=sets))

    def _when_called(self, first: Tasks, made: list[_Branch], tasks: Tasks) -> Tasks:
        """The tasks before a wait: the rules of the case are asked first of what the tool did."""
        at = next((task for task in first if task.name == self.case.tool), None)
        if at is None:
            return first
        span = self.case.span
        own = {one.rule.label: one._replace(rule=when_called(one.rule)) for one in made}
        failing = [
            rule for one, when in failures([one.rule for one in own.values()]) for rule in _taking(own[one.label], when)
        ]
        asked = [(one, guard_when_called(one.rule, self.known)) for one in own.values()]
        done = [rule for one, when in asked if when is not None for rule in _taking(one, when)]
        rules = _until_else((*done, Rule(None, "continue", span)))
        dispatch = (noop(generated_name(self.old.name, "called"), span, rules),) if done else ()
        tool = tool_before_wait(at, tuple(failing), (*tasks, *dispatch), self.case)
        return (*(tool if task is at else task for task in first), *dispatch)

    def _served(self, main: Task, rules: list[Ready]) -> tuple[Rule, ...]:
        """The rules of a wait whose case is decided in tasks behind it: it goes on for an event that some
        rule takes.
        """
        span = self.case.span
        fires = [rule.success for rule in rules if rule.success != FALSE]
        again = waiting_again(main.name, self.case.timeout, span)._replace(when=guard(OUTCOME_OK, span))
        if not fires:
            return (again,)
        onward = Rule(guard(OUTCOME_OK if TRUE in fires else both(OUTCOME_OK, either(*fires)), span), "continue", span)
        return (onward,) if TRUE in fires else (onward, again)

    def _branch(self, rule: Ready, main: Task, merge: str) -> Tasks:
        """The tasks of a rule, and the end of its branch; none where it only goes to the merge point."""
        work = repeated_chain(self.old, rule, in_chain(self.old, rule.work, self.known))
        brought = carried(rule)
        if not work and not brought:
            return ()
        return (*work, *in_chain(self.old, (end_of(self.old, rule, merge, brought),), self.known))

    def _entered(self, step: Step, rules: list[Ready]) -> Step:
        """Rules for `step.enter`: what they set is set before the tool, or before the loop; where that reads the item,
        before the tool of the first one.
        """
        found: list[Task] = []
        before: list[Entering] = []
        for rule in rules:
            # Before the tool there is no result that a branch or a route could be about. All public rules on
            # `step.enter` set.
            if rule.tasks or rule.sets is None:
                why = "on `step.enter` a rule can only set"
                self.record(Change(BY, rule.rule.span, "`case`", "refused", why))
                continue
            # Set once before the loop, the value is the same for all items. In the first task it would be set by
            # each, beside each other.
            if step.loop is not None and may_stand_before(step, rule.sets):
                before.append(Entering(rule.label, rule.sets._replace(directive="continue"), rule.rule.span))
                continue
            # Items that run at once have no first one that the others could wait for.
            if step.loop is not None and (step.loop.mode != "sequential" or step.loop.inner is not None):
                why = "what `step.enter` sets reads or sets what each item has, and items run at once here: set it in "
                why += "a step before the loop"
                self.record(Change(BY, rule.rule.span, "`case`", "refused", why))
                continue
            name, span = generated_name(step.name, rule.label, "enter"), rule.rule.span
            sets = rule.sets._replace(directive="continue")
            if step.loop is not None:
                first = guard(compared(Name("loop_index"), "==", Const(0)), span)
                found.append(noop(name, span, (sets._replace(when=first), Rule(None, "continue", span))))
            else:
                found.append(noop(name, span, (sets,)))
        return step._replace(tasks=(*found, *step.tasks), extras=(*step.extras, *before))


def _stays(rule: Ready) -> bool:
    """Whether a rule about success routes nowhere, so that the step goes on to its end."""
    if only_repeats(rule) or is_for_exit(rule.rule):
        return False
    return rule.success != FALSE and rule.route is None and rule.rule.when is not None


def _taking(branch: _Branch, when: Guard) -> tuple[Rule, ...]:
    """The rules of a policy for one rule of the case: repeat the tool, if the rule says so and as often as it may, then
    lead to the branch.
    """
    rule = branch.rule
    retry = repeated(rule, when)
    routes = recorded_rule(rule) if rule.route is not None and not carried(rule) else ()
    span = rule.rule.span
    made = jump(branch.target, span, when=when) if branch.target else Rule(when, "break", span)
    sets = rule.sets
    made = made._replace(set_ctx=sets.set_ctx if sets else (), set_iter=(*(sets.set_iter if sets else ()), *routes))
    if retry is None:
        return (made,)
    # A rule that only repeats must not take the used-up outcome: that stays a failure (REAL.md, flow).
    does_more = branch.tasks or rule.route is not None or sets is not None
    return (retry, made) if does_more else (retry,)


def _until_else(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules up to the first that takes everything."""
    at = next((n for n, rule in enumerate(rules) if rule.when is None), len(rules) - 1)
    return rules[: at + 1]


def _rest(done: list[Rule], end: Rule) -> tuple[Rule, ...]:
    """The rule `end` for a success that no rule takes; none where a rule takes every success."""
    asked = {unparse(rule.when.expr) for rule in done if rule.when is not None and rule.directive != "retry"}
    return () if unparse(OUTCOME_OK) in asked else (end,)


def _patched(rule: Rule, ok: Rule | None) -> Rule:
    """The rule with what the tool's own policy sets on success."""
    if ok is None or rule.directive == "retry":
        return rule
    # What the rule sets wins over the tool's own policy, as it is asked behind it.
    ctx = {**dict(ok.set_ctx), **dict(rule.set_ctx)}
    scratch = {**dict(ok.set_iter), **dict(rule.set_iter)}
    return rule._replace(set_ctx=tuple(ctx.items()), set_iter=tuple(scratch.items()))
