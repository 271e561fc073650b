"""The changes from one plan to another, in four classes.

    run       what can happen changed: parts, guards, joins, bounds; runs, dead ends, how often steps run
    resume    a run in flight may rest in a place that the new plan lacks, or would wait for ever in the new plan
    data      what is computed changed
    cosmetic  nothing changed that has an effect

What `resume` takes for a run in flight is said in `transfer`.
"""

from collections.abc import Iterator

from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.span import NOWHERE, Span
from noetlc.analysis.contrast import contrasted, shortened_value
from noetlc.analysis.effort import Budget
from noetlc.analysis.extents import Extent
from noetlc.analysis.facts import Class, Fact, FactAddress, facts_of
from noetlc.analysis.regions import PhaseRegion, regions_of
from noetlc.analysis.report import AnalysisReport, report_of
from noetlc.analysis.skeleton import whole_skeleton
from noetlc.analysis.traces import Compared, Trace, compared_runs
from noetlc.analysis.transfer import is_control, transfer_of
from noetlc.analysis.verdict import Status

BUDGET = Budget(states=20_000)
MOST = 3
"""Markings from which no end is reached that are told."""

LONG_RUN, MANY = 16, 4
"""Steps of a run that is told whole, and steps of which one thing is said by name."""


class Difference(NamedTuple):
    """One change: `sign` is `+`, `-` or `~`. The place is in the old file for what was removed, else in the new one."""

    klass: Class
    sign: str
    message: str
    span: Span


def differences_of(old: Plan, new: Plan) -> tuple[Difference, ...]:
    """All changes from one plan to another, by class and in the order of the plans."""
    before, after = facts_of(old), facts_of(new)
    told = list(_changed_facts(before, after))
    if any(each.klass is Class.RUN for each in told):  # else the nets and their guards are the same
        told += _analysed(report_of(old, (), BUDGET), report_of(new, (), BUDGET))
        near = _changed_steps(before, after)
        # A change of a step shows in the order of what runs before and after it.
        near |= _neighbours(old, near) | _neighbours(new, near)
        others = {region.phase: region.plan for region in regions_of(new)}
        for region in regions_of(old):
            if region.phase not in others:
                told.append(_gone(region))
            elif whole_skeleton(region.plan).net != whole_skeleton(others[region.phase]).net:
                told += _resume(region.plan, others[region.phase])
                told += _runs(compared_runs(region.plan, others[region.phase], near), near)
    # Sorting is stable, so that within a class the order of the plans stays.
    order = list(Class)
    return tuple(sorted(dict.fromkeys(told), key=lambda each: order.index(each.klass)))


def _gone(region: PhaseRegion) -> Difference:
    message = f"a run that is in phase `{region.phase}` cannot go on"
    return Difference(Class.RESUME, "-", message, region.plan.steps[region.plan.entry].span)


def _changed_facts(old: dict[FactAddress, Fact], new: dict[FactAddress, Fact]) -> Iterator[Difference]:
    """Facts that came, went or changed; not the parts of what came or went itself."""
    for address, fact in old.items():
        if address not in new and _is_told(address, new):
            yield Difference(fact.klass, "-", f"{_called(address)}{_value(address, fact)}", fact.span)
    for address, fact in new.items():
        was = old.get(address)
        if was is None:
            if _is_told(address, old):
                yield Difference(fact.klass, "+", f"{_called(address)}{_value(address, fact)}", fact.span)
        elif was.value != fact.value and not _follows(address, old, new):
            before, after = contrasted(was.value, fact.value)
            yield Difference(fact.klass, "~", f"{_called(address)}: {before} → {after}", fact.span)


def _changed_steps(old: dict[FactAddress, Fact], new: dict[FactAddress, Fact]) -> frozenset[str]:
    """The steps about which something changed that decides what can happen."""
    differing = {address for address in {*old, *new} if _said(old, address) != _said(new, address)}
    return frozenset(address[0].removeprefix("step ") for address in differing if address[0].startswith("step "))


def _said(facts: dict[FactAddress, Fact], address: FactAddress) -> str | None:
    fact = facts.get(address)
    return fact.value if fact is not None and fact.klass is Class.RUN else None


def _neighbours(plan: Plan, names: frozenset[str]) -> frozenset[str]:
    """The steps from and to which an arc leads from or to one of these."""
    ends = [(plan.steps[arc.step].name, plan.steps[arc.target].name) for arc in plan.arcs if arc.target >= 0]
    return frozenset(name for pair in ends if not names.isdisjoint(pair) for name in pair)


def _is_told(address: FactAddress, others: dict[FactAddress, Fact]) -> bool:
    """Whether what came or went is told by itself: not with what it is a part of, and no order, which has no place."""
    return (not address[:-1] or address[:-1] in others) and not address[-1].startswith("order of ")


def _follows(address: FactAddress, old: dict[FactAddress, Fact], new: dict[FactAddress, Fact]) -> bool:
    """Whether an order changed only because something came or went, which is told already."""
    if not address[-1].startswith("order of "):
        return False
    before, after = old[address].value.split(", "), new[address].value.split(", ")
    return [each for each in before if each in after] == [each for each in after if each in before]


def _resume(old: Plan, new: Plan) -> Iterator[Difference]:
    """Where a run of the old plan can rest and cannot go on in the new one."""
    found = transfer_of(old, new)
    steps = {step.name for step in new.steps}
    for place in found.lacking:
        step = old.steps[old.net.places[place].step]
        where = _resting(old, place) if step.name in steps else f"in step `{step.name}`"
        yield Difference(Class.RESUME, "-", f"a run that is {where} cannot go on", step.span)
    told: set[str] = set()
    for marking in found.stranded:
        marked = [place for place, _ in marking if is_control(old, place)]
        where = " and ".join(dict.fromkeys(_resting(old, place) for place in marked))
        if where not in told and len(told) < MOST:
            told.add(where)
            span = old.steps[old.net.places[marked[0]].step].span
            yield Difference(Class.RESUME, "-", f"a run that is {where} never comes to an end", span)
    if not found.complete:
        yield Difference(
            Class.RESUME, "~", "whether a run in flight can go on is not known: too many markings", NOWHERE
        )


def _resting(plan: Plan, number: int) -> str:
    """Where in a step a token rests, in words."""
    place = plan.net.places[number]
    step = f"step `{plan.steps[place.step].name}`"
    if place.task >= 0:
        return f"in task `{plan.tasks[place.task].name}` of {step}"
    if place.role in ("in", "free", "held", "idle", "got", "met", "dead", "cold"):
        return f"before the join of {step}"
    if place.role in ("loop", "todo", "slot", "fin", "rest", "closing"):
        return f"in the loop of {step}"
    if place.role == "fly":
        return f"on a delayed arc of {step}"
    return f"in {step}"


def _analysed(old: AnalysisReport, new: AnalysisReport) -> Iterator[Difference]:
    """Findings of the analysis that came or went, and steps that run another number of times."""
    before, after = _refuted(old), _refuted(new)
    for key, span in before.items():
        # A fault is compared by its words, which name steps: numbers of steps move when one is put in.
        if key not in after:
            yield Difference(Class.RUN, "-", f"no more: {key}", span)
    for key, span in after.items():
        if key not in before:
            yield Difference(Class.RUN, "+", f"now: {key}", span)
    extents = {extent.step: extent for extent in old.extents}
    changed: dict[str, list[str]] = {}
    for extent in new.extents:
        was = extents.get(extent.step)
        if was is not None and was[1:3] != extent[1:3]:
            changed.setdefault(f"{_extent(was)} → {_extent(extent)}", []).append(f"`{extent.step}`")
    for change, names in changed.items():
        more = f" and {len(names) - MANY} more" if len(names) > MANY + 1 else ""
        shown = names[:MANY] if more else names
        yield Difference(
            Class.RUN, "~", f"{', '.join(shown)}{more} {'run' if len(names) > 1 else 'runs'} {change}", NOWHERE
        )


def _refuted(report: AnalysisReport) -> dict[str, Span]:
    """The faults of a plan, certain or possible: each in words."""
    return {
        verdict.detail: verdict.span or NOWHERE
        for verdict in report.verdicts
        if verdict.status is Status.REFUTED or (verdict.status is Status.UNKNOWN and verdict.story is not None)
    }


def _extent(extent: Extent) -> str:
    runs = "any number of times" if extent.runs is None else f"at most {extent.runs} times" if extent.runs else "never"
    runs = "once" if extent.runs == 1 else runs
    at_once = "many" if extent.at_once is None else str(extent.at_once)
    return runs if extent.at_once in (0, 1) else f"{runs}, {at_once} at once"


def _runs(found: Compared, near: frozenset[str]) -> Iterator[Difference]:
    for sign, trace in (("+", found.added), ("-", found.removed)):
        if trace is not None:
            rest = ", steps away from the change left out" if found.partly else ""
            yield Difference(Class.RUN, sign, f"a run, as {' → '.join(_shortened(trace, near))}{rest}", NOWHERE)
    if not found.complete and found.added is found.removed is None:
        yield Difference(Class.RUN, "~", "which runs came and went is not known: too many markings", NOWHERE)


def _shortened(trace: Trace, near: frozenset[str]) -> Iterator[str]:
    """The steps of a run; in a long one an ellipsis for those in a row that are away from the change."""
    for number, step in enumerate(trace):
        if len(trace) <= LONG_RUN or step in near or number in (0, len(trace) - 1):
            yield f"`{step}`"
        elif number == 1 or trace[number - 1] in near:
            yield "…"


def _called(address: FactAddress) -> str:
    """An address in words: `step fetch`, task `get`: url."""
    parts = []
    for part in address:
        word, _, name = part.partition(" ")
        named = name and word in ("step", "task", "credential", "child", "input", "workload", "argument", "limit")
        parts.append(f"{word} `{name}`" if named else f"arc to `{part[7:]}`" if part.startswith("arc to ") else part)
    return ", ".join(parts)


def _value(address: FactAddress, fact: Fact) -> str:
    return f": {shortened_value(fact.value)}" if fact.value and len(address) != 1 else ""
