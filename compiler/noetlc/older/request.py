"""The request and its run under the names of older dialects: `job`, `payload`, `spec`, `input`, `data`.

name_request: what older dialects call the request and its run (REAL.md, values).

    run: "{{ job.uuid }}"                                  →  execution_id
    workload: {who: "{{ payload.who }}", n: "{{ args.n }}"}  →  workload.who, workload.n
    url: "{{ spec.url }}", where nothing else is `spec`    →  workload.url

A name that the playbook declares is its own. In the tasks of a step `payload`, `input` and `data` are first what an arc
brings.
"""

from collections.abc import Callable, Container, Mapping
from re import compile as pattern
from types import MappingProxyType

from noetl_ir.expr import Block, Expr, Name, Native, Template
from noetl_ir.paths import static_path
from noetl_ir.span import Span
from noetlc.ast.bodies import all_taken
from noetlc.ast.playbook import Playbook, Step, Value
from noetlc.ast.sugar import Guess
from noetlc.ast.walk import blocks_in, expressions_in, loops_of
from noetlc.ast.workbook import pairs_of
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.binding import bound, with_blocks
from noetlc.expr.block_names import free_names
from noetlc.expr.paths import accesses
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import path
from noetlc.expr.templates import Templated, guard_with, map_templated, value_with
from noetlc.older.legacy_names import below
from noetlc.reading.around import Around


class OldRequest(Guess):
    """Some expression of the file may ask for the request or its run by older names."""

    span: Span


BY = "name_request"

NOTHING: Mapping[str, Template] = MappingProxyType({})
_RUN = ("uuid", "id", "execution_id")
_RUN_KEY = pattern(r"\s*\.\s*(?:uuid|id|execution_id)\b")
_EVERYWHERE = frozenset({"payload", "spec", "input"})
_IN_FIELDS = _EVERYWHERE | {"data"}
_IN_WORKLOAD = _IN_FIELDS | {"args"}


def name_request(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which the request is `workload`, and its run `execution_id`."""
    asked, playbook = all_taken(playbook, OldRequest)
    if not asked:
        return playbook
    around = Around(playbook)
    outside = around.outside()
    shared = outside.workload | outside.steps | outside.ctx
    namer = _Namer(record)
    in_workload = namer.each(_IN_WORKLOAD, shared, frozenset())
    workload = map_templated(playbook.workload, in_workload)
    keychain = map_templated(playbook.keychain, in_workload)
    executor = map_templated(playbook.executor, namer.each(_IN_FIELDS, shared, frozenset()))
    steps = tuple(_step(step, namer, shared, around.names(step).args) for step in playbook.steps)
    workbook = map_templated(playbook.workbook, namer.each(_EVERYWHERE, shared, frozenset()))
    return playbook._replace(workload=workload, keychain=keychain, executor=executor, steps=steps, workbook=workbook)


def _step(step: Step, namer: "_Namer", shared: frozenset[str], args: frozenset[str]) -> Step:
    """A step: what its arcs and rules read, then what its tasks are given."""
    if args is Around.ANYTHING:  # whatever the name is, an arc may bring it
        shared = shared | _IN_FIELDS
    own = {loop.iterator for loop in loops_of(step)} | {task.name for task in step.tasks}
    known = shared | own | args
    tasks = []
    for task in step.tasks:
        own_args = pairs_of(task.args.template) if task.args is not None else None
        # Fields are rendered with the task's own args; the args themselves with those of the token. One and the same
        # `input.x` may differ in the two.
        inside = namer.each(_IN_FIELDS, known, args, own_args or {})
        outside = namer.each(_IN_FIELDS, known, args)
        tasks.append(
            task._replace(
                fields=map_templated(task.fields, inside), args=map_templated(task.args, outside),
                knobs=map_templated(task.knobs, inside), timeout=map_templated(task.timeout, inside),
            )
        )  # fmt: skip
    # In arcs and rules `data` is the result of the tool, so it is not among the words there.
    return map_templated(step._replace(tasks=tuple(tasks)), namer.each(_EVERYWHERE, known, args))


class _Namer:
    """Renames, and tells each place once."""

    def __init__(self, record: RecordChange) -> None:
        self._record = record

    def each(
        self,
        words: frozenset[str],
        known: Container[str],
        args: frozenset[str],
        own_args: Mapping[str, Template] = NOTHING,
    ) -> Callable[[Templated], Templated]:
        """The function that renames some words in a guard or value, but for those that are `known`.

        `args` are the keys that arcs bring, `own_args` the args of the task.
        """
        taken = frozenset(word for word in words if word not in known)
        is_run = "job" not in known
        replace = _replacing(taken, args, own_args, is_run=is_run)
        # A block template binds whole names, and `data` alone is not the request's.
        meanings: dict[str, Expr] = {word: Name("workload") for word in taken - {"data"}}

        def change(templated: Templated) -> Templated:
            if not isinstance(templated, Value):
                made: Templated = guard_with(templated, replace)
            else:
                made = value_with(templated, replace)
                template = with_blocks(
                    made.template, lambda block: bound(_with_run(block) if is_run else block, meanings)
                )
                made = made if template is made.template else Value(template, made.span, None)
            if made is not templated:
                self._tell(templated, taken)
            return made

        return change

    def _tell(self, templated: Templated, taken: frozenset[str]) -> None:
        read = {access.root.name for expr in _exprs(templated) for access in accesses(expr)}
        if not read & taken:
            self._record(Change(BY, templated.span, "`job`", "safe", "`execution_id`"))
        else:
            became = "`workload`, over which the payload is merged"
            self._record(Change(BY, templated.span, "a name of the request", "review", became))


def _with_run(block: Block) -> Block:
    """A block template with the id of the execution in the places of what `job` has."""
    parts, at = list[str](), 0
    for name in free_names(block.text):
        behind = _RUN_KEY.match(block.text, name.end)
        if name.name == "job" and behind is not None:
            parts += [block.text[at : name.start], "execution_id"]
            at = behind.end()
    return Block("".join([*parts, block.text[at:]])) if parts else block


def _exprs(templated: Templated) -> list[Expr]:
    if not isinstance(templated, Value):
        return [templated.expr]
    blocks = [Name(name.name) for block in blocks_in(templated) for name in free_names(block.text)]
    return [*(expr for expr, _ in expressions_in(templated)), *blocks]


def _replacing(
    words: frozenset[str], args: frozenset[str], own_args: Mapping[str, Template], *, is_run: bool
) -> Replace:
    def replace(expr: Expr) -> Expr | None:
        here = static_path(expr)
        if len(here) == 2 and here[0] == "job" and here[1] in _RUN and is_run:
            return Name("execution_id")
        if not here or here[0] not in words:
            return None
        if len(here) == 1:
            # Alone, `data` is the old word for a result; only a key below it says that the request is meant.
            return Name("workload") if here[0] != "data" else None
        own = own_args.get(here[1])
        if own is not None:  # the task's own arg: what it is, where that can be said
            return below(own.expr, here[2:]) if isinstance(own, Native) else None
        # What an arc brings under that key is nearer to the task than the payload of the run.
        return path("args" if here[1] in args else "workload", *here[1:])

    return replace
