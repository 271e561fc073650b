"""`next` as a name, a list, a ladder or a mapping of one step (formal §9, case §2.4, v1).

lower_next: `next` as a name, a list or a ladder becomes a router (LANGUAGE §6).

    next: b                                       →  exclusive, one arc
    next: [a, b]                                  →  inclusive: a fork
    next: [{when: g, then: [a]}, {else: [b, c]}]  →  exclusive: a when g, else the router __s__next1 that forks

Where the branches of a fork all reach one step unconditionally and nothing else leads there, that step gets
`join: all`.
"""

from collections.abc import Iterator
from itertools import pairwise

from noetl_ir.expr import Conditional, Const, Expr, Native
from noetl_ir.nearest import nearest
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.bodies import taken_of
from noetlc.ast.playbook import Arc, Guard, Playbook, Router, Step, Value
from noetlc.ast.sugar import Sugar
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.generated import generated_name, guard, router_step
from noetlc.expr.parser import parse_template
from noetlc.expr.shorthand import both, negated
from noetlc.older.branching import behind, branch_arcs, branch_name
from noetlc.older.loose import read_loose_guard
from noetlc.older.repetition import both_guards
from noetlc.older.variables import take_arc_set
from noetlc.reading.drafts import ArcDraft, StepDraft, StepSpecDraft
from noetlc.reading.reader import Reader, stray_key
from noetlc.reading.shapes import choice_of, is_empty, mapping_of, reference_of, wrong_shape
from noetlc.reading.values import read_args, read_duration
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence


class Target(NamedTuple):
    """A branch of a list: the arcs that it forks into. `when` is None for `else` and where nothing is asked."""

    when: Guard | None
    arcs: tuple[Arc, ...]
    span: Span


class Targets(Sugar):
    """`next: name`, a list of names or steps, or a ladder; `mode` where the step's spec gives one."""

    branches: tuple[Target, ...]
    span: Span
    mode: str = ""


class NextMode(Sugar):
    """`spec.next_mode`: the mode of the step's `next`."""

    mode: str
    span: Span


CARRIERS = ("args", "with", "data", "input", "payload")
"""What the payload of a token was called, in the order in which they win."""

CONDITIONS = ("when", "condition", "cond")

_ITEM = ("step", "spec", *CARRIERS, *CONDITIONS, "set", "then", "else", "desc", "to", "policy", "priority")

_BRANCHES = ("then", "else")


def read_targets(r: Reader, node: Node) -> Targets | None:
    """The branches that `next` has in any form before arcs; None where nothing is named."""
    r.legacy_seen = True
    items = node.items if isinstance(node, Sequence) else (node,)
    found = [branch for item in items if not is_empty(item) for branch in _branches(r, item)]
    return Targets(tuple(found), node.span) if found else None


def take_targets(r: Reader, draft: StepDraft, node: Node) -> None:
    """Take `next` in any form before arcs."""
    targets = read_targets(r, node)
    if targets is not None:
        draft.extras.append(targets)


def read_arcs(r: Reader, node: Node) -> tuple[Arc, ...]:
    """The steps that a branch leads to: a name, a mapping of one, or a list of either."""
    items = node.items if isinstance(node, Sequence) else (node,)
    return tuple(arc for item in items if not is_empty(item) for arc in _arc(r, item))


def _branches(r: Reader, node: Node) -> list[Target]:
    """One branch for a plain item, two for `{when, then, else}`."""
    if not isinstance(node, Mapping):
        return [Target(None, read_arcs(r, node), node.span)]
    then, other = node.get("then"), node.get("else")
    if then is None and other is None:
        arcs = read_arcs(r, node)
        guards = {arc.when for arc in arcs}
        if len(guards) == 1:  # the item is a branch with that condition
            return [Target(guards.pop(), tuple(arc._replace(when=None) for arc in arcs), node.span)]
        return [Target(None, arcs, node.span)]
    asked = _condition(r, node)
    # Beside `then`, a `step` would be a second answer to where the branch leads.
    if (step := node.key("step")) is not None:
        stray_key(r, "next", step, tuple(key for key in _ITEM if key != "step"))
    found = []
    if then is not None:
        shared, sets = _carried(r, node), _sets(r, node)
        for branch in _inside(r, then, asked, node.span):
            arcs = tuple(arc._replace(args=arc.args or shared, extras=(*sets, *arc.extras)) for arc in branch.arcs)
            found.append(branch._replace(arcs=arcs))
    if other is not None:
        body = other.get("then") if isinstance(other, Mapping) and other.get("then") is not None else other
        # An `else` beside a `then` is taken where its own condition is false. It needs that said, because items after
        # it may follow; one without `then` closes the list, and asks nothing.
        unless = guard(negated(asked.expr), asked.span) if asked is not None and then is not None else None
        assert body is not None
        found += _inside(r, body, unless, node.span)
    return found


def _inside(r: Reader, node: Node, asked: Guard | None, span: Span) -> list[Target]:
    """The branches of a `then` or `else`: one, or those of a ladder inside of it, each with the condition around it."""
    items = node.items if isinstance(node, Sequence) else (node,)
    if not any(isinstance(item, Mapping) and (item.get("then") or item.get("else")) is not None for item in items):
        return [Target(asked, read_arcs(r, node), span)]
    inner = [branch for item in items if not is_empty(item) for branch in _branches(r, item)]
    found = [branch._replace(when=both_guards(asked, branch.when)) for branch in inner]
    # A ladder inside a branch that takes nothing ends the token there. Without the empty branch the token would fall
    # through to the items behind, which are for other conditions.
    return found if inner and inner[-1].when is None else [*found, Target(asked, (), span)]


def take_cond(r: Reader, draft: ArcDraft, key: Scalar, node: Node) -> None:
    """`cond` or `condition` of an arc: an older word for its `when`."""
    r.respelt(key.span, f"`{key.text}` of an arc", "`when`", "review")
    # The HEAD engine ignores `cond` of an arc, so that the arc was always taken (two public arcs). Who wrote it
    # meant a condition: class `review`.
    draft.guarded = True
    draft.when = read_loose_guard(r, node, f"the arc's `{key.text}`", in_arc=True)


def _condition(r: Reader, node: Mapping) -> Guard | None:
    for name in CONDITIONS:
        key, value = node.key(name), node.get(name)
        if key is None or value is None:
            continue
        if name != "when":
            r.respelt(key.span, f"`{name}`", "`when`", "review")
        return read_loose_guard(r, value, f"`{name}`", in_arc=True)
    return None


def _arc(r: Reader, node: Node) -> list[Arc]:
    if isinstance(node, Scalar):
        name = reference_of(r, node, "the next step")
        return [] if name is None else [_leading(name, node.span, node.span)]
    mapping = mapping_of(r, node, "a next step")
    if mapping is None:
        return []
    to = mapping.get("to")
    if to is not None:
        return _with_own(r, mapping, list(read_arcs(r, to)))
    step = mapping.get("step")
    if step is None and (mapping.get("then") or mapping.get("else")) is not None:
        why = "write a rule for each of its conditions"
        r.changes.append(Change("read", mapping.span, "conditions inside of the `next` of a rule", "refused", why))
        return []
    # A single unknown key is the step's name with args below it: `next: [{load: {id: 1}}]`. A key that looks like a
    # misspelt word of ours is told as such instead, and never taken for a step.
    if step is None and len(mapping.entries) == 1 and not nearest(mapping.entries[0][0].text, _ITEM):
        key, inner = mapping.entries[0]
        args = read_args(r, inner, "the args of the step") if not is_empty(inner) else None
        return [_leading(key.text, key.span, mapping.span)._replace(args=args)]
    for key, _ in mapping.entries:
        if key.text not in _ITEM or (step is not None and key.text in _BRANCHES):
            stray_key(r, "next", key, _ITEM)
    if step is None:
        wrong_shape(r, node, "a next step", "`{step: name}`")
        return []
    return _with_own(r, mapping, _targets(r, step, mapping.span))


def _with_own(r: Reader, node: Mapping, arcs: list[Arc]) -> list[Arc]:
    """The arcs of an item with what it says itself: a condition, args, a delay."""
    spec = node.get("spec")
    delay = spec.get("delay") if isinstance(spec, Mapping) else None
    after = None if delay is None else read_duration(r, delay, "`delay`")
    args, asked, sets = _carried(r, node), _condition(r, node), _sets(r, node)
    return [
        arc._replace(
            # What the inner arc says wins over the item around it, as the nearer one does everywhere. Conditions add
            # up: both must be true.
            args=arc.args or args,
            delay=arc.delay or after,
            when=both_guards(asked, arc.when),
            extras=(*sets, *arc.extras),
        )
        for arc in arcs
    ]


def _sets(r: Reader, node: Mapping) -> tuple[Sugar, ...]:
    """The values that an item sets when it is taken."""
    key, value = node.key("set"), node.get("set")
    draft = ArcDraft()
    if key is not None and value is not None:
        take_arc_set(r, draft, key, value)
    return tuple(draft.extras)


def _targets(r: Reader, node: Node, span: Span) -> list[Arc]:
    """The arc to a name; for a template one guarded arc for each name that it can be (LANGUAGE §6)."""
    if not isinstance(node, Scalar) or "{{" not in node.text:
        name = reference_of(r, node, "the next step")
        return [] if name is None else [_leading(name, node.span, span)]
    template, _ = parse_template(node.text)
    # The net of a plan has an arc for each target. A template is allowed only where all of its names are written out,
    # so that what can be reached is known before a run.
    names = list(_named(template.expr)) if isinstance(template, Native) else []
    if not names or any(name is None for _, name in names):
        why = "its targets cannot be enumerated: write `{{ 'a' if x else 'b' }}`, or one guarded arc for each"
        r.changes.append(Change("read", node.span, "a template as the next step", "refused", why))
        return []
    r.respelt(node.span, "a template as the next step", "one guarded arc for each name")
    arcs = []
    for test, word in names:
        when = None if test is None else guard(test, node.span)
        arcs.append(_leading(word or "", node.span, span)._replace(when=when))
    return arcs


def _named(expr: Expr) -> Iterator[tuple[Expr | None, str | None]]:
    """The names that an expression can be, each with what must be true; None is not a name that is written out."""
    match expr:
        case Const(value=str(name)):
            yield None, name
        case Conditional(test=test, then=then, otherwise=other) if other is not None:
            for inner, found in _named(then):
                yield (test if inner is None else both(test, inner)), found
            yield from _named(other)
        case _:
            yield None, None


def _leading(name: str, at: Span, span: Span) -> Arc:
    return Arc(name, at, None, None, None, 0, span)


def _carried(r: Reader, node: Mapping) -> Value | None:
    """The args of a token, whatever they are called."""
    for name in CARRIERS:
        key, value = node.key(name), node.get(name)
        if key is not None and value is not None and not is_empty(value):
            if name != "args":
                r.respelt(key.span, f"`{name}` of a next step", "`args`")
            return read_args(r, value, f"`{name}`")
    return None


def take_next_mode(r: Reader, draft: StepSpecDraft, key: Scalar, node: Node) -> None:
    """`next_mode` of a step's spec."""
    r.respelt(key.span, "`next_mode` of a step's spec", "the `mode` of its `next`")
    mode = choice_of(r, node, "`next_mode`", ("exclusive", "inclusive"))
    if mode is not None:
        draft.extras.append(NextMode(mode, key.span))


BY = "lower_next"


def lower_next(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which every step that leads somewhere has a router."""
    made: dict[str, list[Step]] = {}
    forks: list[Step] = []
    steps = []
    for step in playbook.steps:
        targets, rest = taken_of(step, Targets)
        mode, rest = taken_of(rest, NextMode)
        if targets is None:
            router = rest.router
            of_spec = router if mode is None or router is None else router._replace(mode=mode.mode)
            steps.append(rest._replace(router=of_spec))
            continue
        if mode is not None:
            targets = targets._replace(mode=mode.mode)
        routed = _routed(rest, targets, made, record)
        steps.append(routed)
        # Only branches without conditions certainly run beside each other. A join that waits for a branch that was
        # not taken would never go on.
        if _is_fork(targets):
            forks.append(routed)
        forks += made.get(step.name, ())
    lowered = playbook._replace(steps=behind(tuple(steps), made))
    return _joined(lowered, forks, record)


def _is_fork(targets: Targets) -> bool:
    return all(branch.when is None for branch in targets.branches) and sum(len(b.arcs) for b in targets.branches) > 1


def _chooses(targets: Targets) -> bool:
    """Whether some target was a template: its arcs are alternatives."""
    return any(arc.when is not None for branch in targets.branches for arc in branch.arcs)


def _routed(step: Step, targets: Targets, made: dict[str, list[Step]], record: RecordChange) -> Step:
    span, branches = targets.span, targets.branches
    before = step.router.arcs if step.router is not None else ()
    # A plain list of several names forks (case §2.4, formal §9.1). A list with conditions is a ladder, of which the
    # first true one is taken.
    if all(branch.when is None for branch in branches) and not _chooses(targets):
        arcs = tuple(arc for branch in branches for arc in branch.arcs)
        if len(arcs) > 1 and before:  # behind the arcs of rules, the fork is one branch of theirs
            arcs, forks = branch_arcs(generated_name(step.name, "next"), arcs, None, span)
            made.setdefault(step.name, []).extend(forks)
        mode = targets.mode or ("inclusive" if len(arcs) > 1 else "exclusive")
        record(Change(BY, span, "`next`", "exact", f"{mode} arcs"))
        return step._replace(router=Router(mode, (*before, *arcs), span))
    found: list[Arc] = list(before)
    for number, branch in enumerate(branches):
        name = branch_name(step.name, "next", number)
        if branch.arcs:
            arcs, forks = branch_arcs(name, branch.arcs, branch.when, branch.span)
            found += arcs
            made.setdefault(step.name, []).extend(forks)
        # Without arcs of its own such a branch would take no token, and the next one would. The generated end takes
        # it, and the run ends there.
        if targets.mode != "inclusive" and branch is not branches[-1] and _may_lead_nowhere(branch):
            end = f"{name}__end"
            found.append(_leading(end, branch.span, branch.span)._replace(when=branch.when))
            made.setdefault(step.name, []).append(router_step(end, branch.span, "exclusive", ())._replace(router=None))
    said = "all arcs whose condition is true" if targets.mode == "inclusive" else "the first true one is taken"
    record(Change(BY, span, "`next` with conditions", "safe", f"{targets.mode or 'exclusive'} arcs: {said}"))
    return step._replace(router=Router(targets.mode or "exclusive", tuple(found), span))


def _may_lead_nowhere(branch: Target) -> bool:
    """Whether a token may take a branch that names no step for it: then it ends, and comes to no later branch."""
    return branch.when is not None and (not branch.arcs or branch.arcs[-1].when is not None)


def _joined(playbook: Playbook, forks: list[Step], record: RecordChange) -> Playbook:
    """The playbook with `join: all` where a fork meets."""
    waiting = dict[str, str]()
    for fork in forks:
        if fork.router is not None and fork.router.mode == "inclusive":
            meeting = _meeting(playbook, fork)
            if meeting is not None:
                waiting[meeting[0]] = meeting[1]

    def joined(step: Step) -> Step:
        how = waiting.get(step.name)
        # A join that the author wrote stays as it is.
        if how is None or step.spec.join != "any":
            return step
        # With other ways in, `join: all` would wait for tokens that need not come, and block the run. The step runs
        # once for each token then, and the note tells of it.
        if how != "all":
            record(Change(BY, step.name_span, "a fork that meets", "review", "`join: any`: other steps lead here too"))
            return step
        record(Change(BY, step.name_span, "a fork that meets", "review", "`join: all`: it waits for every branch"))
        return step._replace(spec=step.spec._replace(join="all", join_span=step.name_span))

    return playbook._replace(steps=tuple(joined(step) for step in playbook.steps)) if waiting else playbook


def _meeting(playbook: Playbook, fork: Step) -> tuple[str, str] | None:
    """The first step that every branch of a fork reaches unconditionally, and its join."""
    by_name = {step.name: step for step in playbook.steps}
    assert fork.router is not None
    ways = [_way(by_name, arc.target) for arc in fork.router.arcs]
    shared = [name for name in ways[0] if all(name in way for way in ways[1:])]
    if len(ways) < 2 or not shared:
        return None
    meeting = shared[0]
    branches = [way[: way.index(meeting)] for way in ways]
    sources = _sources(playbook)
    # A branch that something else starts too would wait for the others in vain.
    alone = all(sources[step] == {before} for way in branches for before, step in pairwise((fork.name, *way)))
    lasts = {way[-1] if way else fork.name for way in branches}
    return meeting, "all" if alone and sources[meeting] == lasts and len(lasts) == len(ways) else "any"


def _sources(playbook: Playbook) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {step.name: set() for step in playbook.steps}
    for step in playbook.steps:
        for arc in _arcs(step):
            found.setdefault(arc.target, set()).add(step.name)
    return found


def _way(by_name: dict[str, Step], name: str) -> list[str]:
    """The steps that a token at `name` certainly comes to, in order."""
    found: list[str] = []
    while name in by_name and name not in found:
        found.append(name)
        # Only a single arc without a guard is certain. Behind a fork or a condition the token may be elsewhere.
        arcs = _arcs(by_name[name])
        if len(arcs) != 1 or arcs[0].when is not None:
            break
        name = arcs[0].target
    return found


def _arcs(step: Step) -> tuple[Arc, ...]:
    return step.router.arcs if step.router is not None else ()
