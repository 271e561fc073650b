"""The body of an older loop that spans steps: which steps it has, and what keeps it from being one pipeline.

The region between the step with the loop and the step that ends it must have one way in and one way out, and its
steps nothing that only a step can have.
"""

from collections.abc import Iterator
from typing import TypeAlias

from noetl_ir.expr import Expr, Name, walk
from noetl_ir.paths import static_path
from noetl_ir.python_names import CONTEXT, INPUTS, words_of
from noetl_ir.records import NamedTuple
from noetlc.ast.graph import ENTRY, later_of
from noetlc.ast.playbook import Arc, Playbook, Step, Task
from noetlc.ast.python_code import code_of
from noetlc.ast.walk import blocks_in, expressions_in, step_expressions, step_values, task_values
from noetlc.ast.workbook import pairs_of
from noetlc.expr.binding import words_in
from noetlc.expr.generated import PLAIN_SPEC

_CLAIMING = "__worker"
"""The iterator of a loop that claims rows."""


class LoopRegion(NamedTuple):
    """`steps` are the one with the loop and then the body's, in file order; `end` is the one that ends it."""

    steps: tuple[Step, ...]
    end: Step

    @property
    def loop(self) -> Step:
        """The step with the loop."""
        return self.steps[0]

    @property
    def names(self) -> frozenset[str]:
        """The names of all its steps."""
        return frozenset(step.name for step in self.steps)

    def arcs_to(self, name: str) -> list[Arc]:
        """The arcs of the region that lead to a step."""
        return [arc for step in self.steps for arc in arcs_of(step) if arc.target == name]


def arcs_of(step: Step) -> tuple[Arc, ...]:
    """The arcs of a step, none for a leaf."""
    return step.router.arcs if step.router is not None else ()


def region_of(playbook: Playbook, begin: str, end: Step) -> LoopRegion | str:
    """The region that ends at `end`, or why there is none."""
    by_name = {step.name: step for step in playbook.steps}
    loop = by_name.get(begin)
    if loop is None or loop.loop is None:
        return f"no step `{begin}` has a loop"
    found: dict[str, None] = {}
    waiting = [arc.target for arc in arcs_of(loop)]
    while waiting:
        name = waiting.pop()
        if name in found or name == end.name:
            continue
        if name not in by_name:
            return f"a way leads from `{begin}` to `{name}`, past `{end.name}`: let every way come to `{end.name}`"
        found[name] = None
        waiting += [arc.target for arc in arcs_of(by_name[name])]
    # A pipeline goes on to the next item by ending. A way back to the loop would begin the whole loop anew within one
    # of its items.
    if begin in found:
        return f"a way leads back to `{begin}`: the loop itself goes on to the next item"
    region = LoopRegion((loop, *(step for step in playbook.steps if step.name in found)), end)
    if not region.arcs_to(end.name):
        return f"no way leads from `{begin}` to `{end.name}`"
    return region


def obstacle(playbook: Playbook, region: LoopRegion) -> str:
    """Why a region cannot be the pipeline of its loop, or ""."""
    findings = (*_ways_in(playbook, region), *_of_steps(region), *_reads(playbook, region), *_of_arcs(region))
    return next(iter(findings), "")


def _ways_in(playbook: Playbook, region: LoopRegion) -> Iterator[str]:
    inside = {step.name for step in region.steps[1:]} | {region.end.name}
    for step in playbook.steps:
        for arc in arcs_of(step) if step.name not in region.names else ():
            if arc.target in inside:
                yield f"`{step.name}` leads to `{arc.target}` from outside of the loop"
    entry = playbook.executor.entry_step or ENTRY
    if entry in inside:
        yield f"the workflow begins at `{entry}`, inside of the loop"
    for phase in later_of(playbook):
        if phase.step in inside:
            yield f"`{phase.name}` begins at `{phase.step}`, inside of the loop"


def _of_steps(region: LoopRegion) -> Iterator[str]:
    loop, meetings = region.loop, frozenset(meeting for meeting, _ in forks_of(region).values())
    # The tasks of a cursor claim the next row themselves, and would never come to the steps behind.
    if loop.loop is not None and loop.loop.iterator == _CLAIMING:
        yield f"the loop of `{loop.name}` has a cursor"
    if loop.spec.timeout is not None or loop.spec.knobs:
        yield f"what the `spec` of `{loop.name}` says would hold for the tasks of all steps"
    for step in region.steps[1:]:
        spec = step.spec
        # A task cannot have a loop, so that the body's step would lose its own.
        if step.loop is not None:
            yield f"`{step.name}` has a loop of its own"
        if spec.join != "any" and step.name not in meetings:
            yield f"`{step.name}` waits for several tokens, and no fork of the body brings them"
        if spec._replace(join="any", join_span=None) != PLAIN_SPEC:
            yield f"`{step.name}` has a `spec`, which the tasks of a loop cannot have apart"


def _reads(playbook: Playbook, region: LoopRegion) -> Iterator[str]:
    """The names that are read of the body where its results are no more."""
    for step in (step for step in playbook.steps if step.name not in region.names):
        for name in (step.name for step in region.steps[1:]):
            # A step has one result, and a step of the body one for each item: outside of the loop nothing says which
            # is meant.
            if reads((step,), name):
                last = f"`{region.loop.name}.results`, the last results of the items"
                yield f"`{step.name}` reads `{name}`, which has a result for each item: read {last}"


def _names(expr: Expr) -> Iterator[str]:
    """The names of steps that an expression may read."""
    for part in walk(expr):
        here = static_path(part)
        if here:
            yield here[1] if here[0] == "steps" and len(here) > 1 else here[0]


def reads(steps: tuple[Step, ...], name: str) -> bool:
    """Whether some expression of the steps reads that name."""
    own = (read for step in steps for expr, _, _ in step_expressions(step) for read in _names(expr))
    return name in own or any(
        name in words_in(block) for step in steps for value in step_values(step) for block in blocks_in(value)
    )


def _of_arcs(region: LoopRegion) -> Iterator[str]:
    forks = forks_of(region)
    for step in region.steps:
        mode = step.router.mode if step.router is not None else ""
        if mode == "inclusive" and len(arcs_of(step)) > 1 and step.name not in forks:
            yield f"the branches of the fork of `{step.name}` are no plain ways to one step that waits for all of them"
        for arc in arcs_of(step):
            values = [value for value in (arc.args, arc.delay) if value is not None]
            asked = [expr for value in values for expr, _ in expressions_in(value)]
            asked += [] if arc.when is None else [arc.when.expr]
            if arc.target == region.end.name and (arc.args is not None or arc.delay is not None):
                yield _for_the_end(region, step, arc)
            if any(isinstance(part, Name) and part.name == "event" for expr in asked for part in walk(expr)):
                yield f"an arc of `{step.name}` asks for its event, which a task does not have"
            if any(True for value in values for _ in blocks_in(value)):
                yield f"an arc of `{step.name}` has a block template: build the text in `{arc.target}`"
        yield from _of_args(region, step)
    for name, (meeting, _) in forks.items():
        if any(arc.args is not None for arc in region.arcs_to(meeting)):
            yield f"the branches of the fork of `{name}` give args to `{meeting}`"


def _for_the_end(region: LoopRegion, step: Step, arc: Arc) -> str:
    """The reason why an arc of a body may give the end of the loop neither args nor a delay: the end runs once, not
    once for each item.
    """
    end, loop = region.end.name, region.loop.name
    if arc.args is None:
        return f"`{step.name}` leads to `{end}` with a delay for each item, and `{end}` runs once behind all items"
    keys = " and ".join(f"`{key}`" for key in _keys(arc)) or "args"
    loss = f"`{step.name}` gives {keys} to `{end}` for each item (line {arc.args.span.line})"
    return f"{loss}, and `{end}` runs once behind all items: leave it out, and read `{loop}.results` in `{end}`"


def _of_args(region: LoopRegion, step: Step) -> Iterator[str]:
    """The reasons why a step cannot read its token's args from `iter`: block templates and code read them by name."""
    if step is region.loop or not any(arc.args is not None for arc in region.arcs_to(step.name)):
        return
    words = frozenset(keys_of(region.arcs_to(step.name))) | {"args"}
    if any(words & words_in(block) for task in step.tasks for value in task_values(task) for block in blocks_in(value)):
        yield f"a block template of `{step.name}` reads the args of its token"
    if any(_code_reads(task, words) and not may_bind(task, region.arcs_to(step.name)) for task in step.tasks):
        yield f"the code of `{step.name}` reads the args of its token: give them as the task's own `args`"


def keys_of(arcs: list[Arc]) -> dict[str, bool]:
    """The keys that arcs give as args, and whether all of them do."""
    keys_of_arcs = [_keys(arc) for arc in arcs]
    return {key: all(key in keys for keys in keys_of_arcs) for keys in keys_of_arcs for key in keys}


def _keys(arc: Arc) -> list[str]:
    return list(pairs_of(arc.args.template) or ()) if arc.args is not None else []


def may_bind(task: Task, arcs: list[Arc]) -> bool:
    """Whether what arcs bring can be written out as the args of a python task: each brings all of it."""
    known = all(arc.args is None or pairs_of(arc.args.template) is not None for arc in arcs)
    return known and (task.args is None or pairs_of(task.args.template) is not None) and all(keys_of(arcs).values())


def _code_reads(task: Task, names: frozenset[str]) -> bool:
    """Whether code may read one of the args of its token, or all of them."""
    if task.kind != "python":
        return False
    code = code_of(task)
    # Code that is not at hand, or that takes all args as `**kwargs`, may read any of them: the question errs on the
    # side of a refusal.
    return code is None or "**" in code or not words_of(code).isdisjoint({*names, *INPUTS, CONTEXT})


_Ways: TypeAlias = tuple[tuple[str, ...], ...]
"""The branches of a fork, in the order of its arcs: the steps of each."""


def forks_of(region: LoopRegion) -> dict[str, tuple[str, _Ways]]:
    """The steps that fork inside of the region: where the branches meet, and the steps of each branch.

    Only such forks whose branches can run one after the other: each a chain of steps that nothing else leads to.
    """
    by_name = {step.name: step for step in region.steps[1:]}
    found: dict[str, tuple[str, _Ways]] = {}
    for step in region.steps:
        arcs = arcs_of(step)
        if step.router is None or step.router.mode != "inclusive" or len(arcs) < 2:
            continue
        if any(arc.when is not None for arc in arcs):
            continue
        ways = [_chain(region, by_name, arc.target) for arc in arcs]
        meetings = {meeting for meeting, _ in ways}
        meeting = min(meetings)
        lasts = {chain[-1] if chain else step.name for _, chain in ways}
        waits = meeting == region.end.name or (
            meeting in by_name
            and by_name[meeting].spec.join == "all"
            and {source.name for source in region.steps for arc in arcs_of(source) if arc.target == meeting} == lasts
        )
        if len(meetings) == 1 and waits and all(chain for _, chain in ways):
            found[step.name] = (meeting, tuple(chain for _, chain in ways))
    return found


def _chain(region: LoopRegion, by_name: dict[str, Step], name: str) -> tuple[str, tuple[str, ...]]:
    """A chain of steps that begins at `name`, none of which another way leads into, and the step behind its end."""
    chain: list[str] = []
    while name in by_name and name not in chain:
        arcs = arcs_of(by_name[name])
        plain = len(arcs) == 1 and arcs[0].when is None and arcs[0].delay is None
        if len(region.arcs_to(name)) != 1 or not plain:
            break
        chain.append(name)
        name = arcs[0].target
    return name, tuple(chain)
