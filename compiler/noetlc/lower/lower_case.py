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

In a loop the rules are asked in each iteration, and those for `loop.done` are arcs. For http, rules for `call.error`
come behind those for `call.done`: they are for what no such rule takes.
"""

from typing import NamedTuple

from noetlc.ast.bodies import Tasks, taken_of
from noetlc.ast.cases import Case, CaseRule, CaseSetting
from noetlc.ast.playbook import Arc, Guard, Playbook, Router, Rule, Step, Task
from noetlc.diag.change import Change, Note
from noetlc.expr.branching import behind
from noetlc.expr.case_rules import (
    Ready,
    chained,
    end_of,
    events_of,
    failure_guard,
    in_chain,
    in_order,
    is_for_loop,
    is_http,
    keeping,
    later_guard,
    merged_result,
    only_routes,
    policy_before,
    ready,
    recorded,
    repeated,
    route_arcs,
    sending,
    sends_answer,
    sets_first,
    settled,
    split,
    success_guard,
    takes,
    waiting_again,
)
from noetlc.expr.events import FAILED
from noetlc.expr.generated import generated_name, guard, jump, noop
from noetlc.expr.shorthand import OUTCOME_OK
from noetlc.expr.unparse import unparse

BY = "lower_case"


def lower_case(playbook: Playbook, note: Note) -> Playbook:
    """The playbook without `case`."""
    known = frozenset([step.name for step in playbook.steps]) | {key for key, _ in playbook.workload}
    made: dict[str, list[Step]] = {}
    steps = []
    for step in playbook.steps:
        case, rest = taken_of(step, Case)
        if case is None:
            steps.append(step._replace(extras=tuple(e for e in step.extras if not isinstance(e, CaseSetting))))
            continue
        case, rest = settled(rest, case)
        lowered = _Lowered(rest, case, known, made, note)
        arcs_only = lowered.becomes_arcs
        if not arcs_only:
            lowered = lowered._replace(case=sending(rest, case, known))
        steps.append(lowered.step(arcs_only=arcs_only))
    return playbook._replace(steps=behind(tuple(steps), made))


class _Lowered(NamedTuple):
    """One step with its case."""

    old: Step
    case: Case
    known: frozenset[str]
    made: dict[str, list[Step]]
    note: Note

    def step(self, *, arcs_only: bool) -> Step:
        """The step without its case."""
        step = self.old
        rules = in_order(self.case)
        enter = [(n, rule) for n, rule in rules if events_of(rule) == {"step.enter"}]
        rules = [pair for pair in rules if pair not in enter]
        if is_http(step):
            rules.sort(key=lambda pair: bool(events_of(pair[1])) and events_of(pair[1]) <= FAILED)
        in_tool = [pair for pair in rules if not is_for_loop(pair[1], step)]
        if not arcs_only:
            step = self._with_branches(step, [ready(step, number, rule) for number, rule in in_tool])
        if enter:
            step = self._entered(step, [ready(step, number, rule) for number, rule in enter])
        arcs: list[Arc] = []
        for number, rule in rules:
            as_written = arcs_only or is_for_loop(rule, self.old)
            arcs += self._arcs(ready(self.old, number, rule), by_guard=as_written)
        said = "guarded arcs" if arcs_only else "rules of the tool, branches of tasks, and arcs on `iter.__route`"
        review = self.old.loop is not None and any(self._routes(rule) for _, rule in in_tool)
        self.note(Change(BY, self.case.span, "`case`", "review" if review else "safe", said))
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
        if is_http(self.old) and any(sends_answer(rule) for rule in in_tool):
            return False
        return only_routes(in_tool) and (self.old.loop is None or not in_tool)

    def _routes(self, rule: CaseRule) -> bool:
        return ready(self.old, 0, rule).route is not None

    def _arcs(self, rule: Ready, *, by_guard: bool) -> list[Arc]:
        """The arcs of a rule: by its guard, or by what the run recorded."""
        route = rule.route
        if route is None or not route.arcs:
            return []
        arcs, forks = route_arcs(self.old, rule, route, rule.rule.when if by_guard else takes(rule))
        self.made.setdefault(self.old.name, []).extend(forks)
        return list(arcs)

    def _with_branches(self, step: Step, rules: list[Ready]) -> Step:
        first, main, after = split(step)
        merge, span = generated_name(step.name, "merge"), self.case.span
        works = [chained(step, rule, in_chain(main, self._own(rule), self.known)) for rule in rules]
        branches = tuple(
            task for rule, work in zip(rules, works, strict=True) if work for task in (*work, end_of(step, rule, merge))
        )
        target = merge if branches else ""
        before, ok = policy_before(main)
        asked = list(zip(rules, works, strict=True))
        failing = [self._to(rule, work, target, failure_guard(rule)) for rule, work in asked]
        # What stands behind the tool, and what it sets, comes first: rules about success are asked behind it.
        if after or (sets_first(ok) and self.case.eval == "on_entry"):
            done = [self._to(rule, work, target, later_guard(rule, main, self.known)) for rule, work in asked]
            rest = jump(merge, span) if branches else Rule(None, "continue", span)
            dispatch: Tasks = (noop(generated_name(step.name, "case"), span, (*_some(done), rest)),)
            onward = [Rule(guard(OUTCOME_OK, span), "continue", span)]
        else:
            done, dispatch = [self._to(rule, work, target, success_guard(rule)) for rule, work in asked], ()
            end = jump(merge, span) if branches else Rule(None, "continue", span)
            if self.case.eval == "on_event":  # what no rule takes is waited for again
                end = waiting_again(main.name, self.case.timeout, span)
            onward = [*_some(done), *_rest(done, end._replace(when=guard(OUTCOME_OK, span)))]
        rules_of = (*before, *_some(failing), *(_patched(rule, ok) for rule in onward), Rule(None, "fail", span))
        tool = keeping(main._replace(rules=rules_of), (*branches, *dispatch), self.case)
        end_task: Tasks = (merged_result(main, merge, branches),) if branches else ()
        return step._replace(tasks=(*first, tool, *after, *dispatch, *branches, *end_task))

    def _own(self, rule: Ready) -> Tasks:
        """The tasks of a branch; one whose name is taken by another branch is called after its own."""
        others = {task.name for task in self.old.tasks}
        for other in self.case.rules:
            if other is rule.rule:
                break
            others |= {task.name for task in other.chain if not task.generated}
        if len(rule.tasks) > len(rule.work) + 1:
            why = "what stands behind `next` is never reached"
            self.note(Change(BY, rule.rule.span, "actions after `next`", "review", why))
        return tuple(
            task._replace(name=f"{task.name}__{rule.label}") if task.name in others else task for task in rule.work
        )

    def _to(self, rule: Ready, work: Tasks, merge: str, when: Guard | None) -> Rule | None:
        """The rule of a policy for one rule of the case; None where it is not about this outcome."""
        if when is None:
            return None
        retry = repeated(rule, when)
        if retry is not None:
            return retry
        routes = recorded(rule) if rule.route is not None else ()
        target = work[0].name if work else merge
        made = jump(target, rule.rule.span, when=when) if target else Rule(when, "break", rule.rule.span)
        if rule.sets is None:
            return made._replace(set_iter=routes)
        return made._replace(set_ctx=rule.sets.set_ctx, set_iter=(*rule.sets.set_iter, *routes))

    def _entered(self, step: Step, rules: list[Ready]) -> Step:
        """Rules for `step.enter`: what they set is set before the tool."""
        found: list[Task] = []
        for rule in rules:
            if rule.tasks or rule.sets is None:
                why = "on `step.enter` a rule can only set"
                self.note(Change(BY, rule.rule.span, "`case`", "refused", why))
                continue
            name = generated_name(step.name, rule.label, "enter")
            found.append(noop(name, rule.rule.span, (rule.sets._replace(directive="continue"),)))
        return step._replace(tasks=(*found, *step.tasks))


def _some(rules: list[Rule | None]) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules if rule is not None)


def _rest(done: list[Rule | None], end: Rule) -> tuple[Rule, ...]:
    """What happens to a success that no rule takes, if one can be left."""
    asked = {unparse(rule.when.expr) for rule in done if rule is not None and rule.when is not None}
    return () if unparse(OUTCOME_OK) in asked else (end,)


def _patched(rule: Rule, ok: Rule | None) -> Rule:
    """The rule with what the tool's own policy sets on success."""
    if ok is None:
        return rule
    ctx = {**dict(ok.set_ctx), **dict(rule.set_ctx)}
    scratch = {**dict(ok.set_iter), **dict(rule.set_iter)}
    return rule._replace(set_ctx=tuple(ctx.items()), set_iter=tuple(scratch.items()))
