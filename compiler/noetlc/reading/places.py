"""Every expression checked at its place: who evaluates it, and which names are visible there (LANGUAGE
§2).
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from noetl_ir.expr import Expr, ListTemplate, Literal, MapTemplate, Name, Native, Template, expressions_of, walk
from noetl_ir.nearest import nearest
from noetl_ir.records import NamedTuple
from noetl_ir.scopes import RESERVED, Site
from noetl_ir.span import Span
from noetlc.ast.once import Once
from noetlc.ast.order import order_of
from noetlc.ast.playbook import Executor, Guard, KeychainEntry, Playbook, Step, Task, Value
from noetlc.ast.walk import (
    default_values,
    expressions_in,
    limits_of,
    loops_of,
    placed_blocks,
    rule_guards,
    rule_values,
    task_values,
    timers_of_loop,
)
from noetlc.ast.workbook import own_args, pairs_of, template_of_pairs, workbook_name
from noetlc.ast.workload import workload_needs
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.check import NameProblem, NameProblemKind, Names, check_names
from noetlc.expr.closed import words_asked
from noetlc.expr.paths import Access, accesses
from noetlc.expr.secret_names import is_secret_name
from noetlc.reading.around import Around, says_itself
from noetlc.reading.reader import Reader
from noetlc.source.nodes import Scalar

_CODES = {
    NameProblemKind.OUT_OF_PLACE: "NL304",
    NameProblemKind.UNKNOWN: "NL303",
    NameProblemKind.ATTRIBUTE: "NL311",
    NameProblemKind.NO_LOOP: "NL304",
    NameProblemKind.DYNAMIC_STEP: "NL304",
    NameProblemKind.AMBIGUOUS: "NL313",
    NameProblemKind.LEGACY_FUNCTION: "NL901",
}


class UndeclaredName(NamedTuple):
    """A name that nothing declares, in a file with older constructs: what it stands in, and what is said of it.

    `free` is the name where it is a bare one, which older engines looked for in the payload.
    """

    free: str
    holder: Value | Guard
    finding: Diagnostic


def check_expressions(r: Reader, playbook: Playbook) -> tuple[UndeclaredName, ...]:
    """Report names out of their place, undeclared names, and workload values that read each other in a
    circle. Those that nothing declares are only warnings where the file has older constructs.
    """
    _check_workload(r, playbook)
    _check_keychain(r, playbook)
    around = Around(playbook)
    checks = _Checks(r, playbook)
    outside = around.outside()
    for key, value in playbook.workload:
        # `{url: "{{ url }}"}` is how old playbooks say that the payload brings it.
        checks.inputs = frozenset({key, *_keys_of(value.template)})
        checks.values((value,), Site.WORKLOAD, outside)
    checks.inputs = frozenset()
    for entry in playbook.keychain:
        checks.values((value for _, value in entry.fields), Site.KEYCHAIN, outside)
    _check_defaults(checks, playbook.executor, outside)
    # As the workload is: nothing has run when they are asked.
    limits = [value for value in (playbook.executor.lifecycle_timeout, playbook.executor.after) if value is not None]
    checks.values(limits, Site.WORKLOAD, outside)
    if playbook.executor.result is not None:
        checks.values((playbook.executor.result,), Site.RESULT, outside)
    for step in playbook.steps:
        _check_step(checks, step, around.names(step))
    # An entry is read wherever it is called, also by a computed name, so its args are never all known.
    checks.open = True
    for found in around.entries():
        checks.brought, checks.silent = found.names.args is _ANYTHING, found.is_idle
        checks.overruled = found.overruled
        _check_task(checks, found.task, found.names)
    return tuple(checks.unknown)


def _check_defaults(checks: "_Checks", executor: Executor, outside: Names) -> None:
    """Check what tasks of every step take: no name of a step is one there. Rules are checked at the tasks with them."""
    checks.values((value for _, value in executor.knobs), Site.TASK, outside)
    if executor.timeout is not None:
        checks.values((executor.timeout,), Site.TASK, outside)
    # As the workload is: nothing has run when they are asked.
    if executor.concurrency is not None:
        checks.values((executor.concurrency.key,), Site.WORKLOAD, outside)
    checks.values((one.value for one in executor.search), Site.SEARCH, outside)
    checks.values((one.initial for one in executor.reducers if one.initial is not None), Site.WORKLOAD, outside)
    for one in executor.tasks:
        checks.values(default_values(one), Site.TASK, outside)


def _keys_of(template: Template) -> Iterator[str]:
    """The keys of all mappings in a value."""
    match template:
        case MapTemplate(items=pairs):
            for key, inner in pairs:
                yield key
                yield from _keys_of(inner)
        case ListTemplate(items=items):
            for inner in items:
                yield from _keys_of(inner)


def _check_step(checks: "_Checks", step: Step, names: Names) -> None:
    checks.brought = names.args is _ANYTHING
    checks.open = checks.brought or "" in names.iterators  # an iterator whose name could not be read
    # Admission and deadlines are decided before any item or task is there.
    bare = names._replace(iterators=(), tasks=frozenset())
    spec = step.spec
    if spec.admit is not None:
        checks.guards((rule.when for rule in spec.admit.rules if rule.when is not None), Site.ADMIT, bare)
    checks.values(limits_of(spec), Site.LOOP, bare)
    if spec.timeout is not None:
        checks.values((spec.timeout,), Site.TASK, names)
    checks.values((value for _, value in spec.knobs), Site.TASK, names)
    outer: tuple[str, ...] = ()
    for loop in loops_of(step):
        level = bare._replace(iterators=outer)
        checks.values(
            (
                value
                for value in (loop.items, loop.max_in_flight, loop.lifecycle_timeout, *timers_of_loop(loop))
                if value is not None
            ),
            Site.LOOP,
            level,
        )
        if loop.enough is not None:
            checks.values((loop.enough,), Site.ENOUGH, level)
        checks.values((value for _, value in loop.knobs), Site.TASK, names)
        if loop.timeout is not None:
            checks.values((loop.timeout,), Site.TASK, names)
        # A level sees the iterators around it, not its own: its items are not there while it is asked for them.
        outer = (loop.iterator, *outer)
    for task in step.tasks:
        _check_task(checks, task, names)
    for arc in step.router.arcs if step.router is not None else ():
        if arc.when is not None:
            checks.guards((arc.when,), Site.ARC, names)
        if arc.args is not None:
            checks.values((arc.args,), Site.ARC, names)
        if arc.delay is not None:
            checks.values((arc.delay,), Site.LOOP, bare)


def _check_task(checks: "_Checks", task: Task, names: Names) -> None:
    own = own_args(task)
    if own:
        pairs = pairs_of(task.args.template) if task.args is not None else None
        alike = frozenset(key for key in own if says_itself(key, (pairs or {}).get(key)))
        # A task's own args win over the token's, so that a bare name is theirs; with the same value both ways it is
        # no ambiguity.
        inside = names._replace(args=names.args | own, alike=(names.alike - own) | alike)
        checks.values((value for value in task_values(task) if value is not task.args), Site.TASK, inside)
    else:
        checks.values((value for value in task_values(task) if value is not task.args), Site.TASK, names)
    if task.args is not None:
        checks.args(task.args, names)
    checks.values(rule_values(task), Site.RULE, names)
    checks.guards(rule_guards(task), Site.RULE, names)


_ANYTHING: frozenset[str] = Around.ANYTHING


_ONE_EXPRESSION = "write one expression, or move it into a task's field"
_INSTEAD = {
    Site.ENOUGH: 'write one condition, as in `enough: "{{ event.done >= 3 }}"`',
    Site.LOOP: "write one expression, as in `{{ xs if x else ys }}`, or build the value in a step before and read "
    "that step's result: a block gives text, which is no list and no number",
}
"""What to write where a block template stands, place by place."""

_Verdict: TypeAlias = tuple[tuple[NameProblem, ...], tuple[Access, ...]]
_FINE: _Verdict = ((), ())

_has_bare_names: Once[Expr, bool] = Once(
    lambda expr: any(type(part) is Name and part.name not in RESERVED for part in walk(expr))
)


class _Checks:
    """Checks expressions, and remembers the verdicts on those that read reserved names alone, which hold everywhere.

    The fields describe the present place, and the checks set them as they go. `open` says that names may be there that
    are known at run time only, `brought` that args may bring them. `inputs` are the keys around a workload value: a
    bare name among them is an input. `silent` is set in workbook entries that nothing calls: unknown names are
    collected, and not reported. `overruled` are an entry's own args that every call gives, which are treated in the
    same way.
    """

    def __init__(self, r: Reader, playbook: Playbook) -> None:
        self.r = r
        self.open = False
        self.brought = False
        self.silent = False
        self.inputs: frozenset[str] = frozenset()
        self.overruled: frozenset[str] = frozenset()
        self.unknown: list[UndeclaredName] = []
        self._callers = dict(_callers(playbook))
        self._keychain = frozenset(entry.name for entry in playbook.keychain)
        self._verdicts: dict[tuple[int, int, int], _Verdict] = {}

    def values(self, values: Iterable[Value], place: Site, names: Names) -> None:
        """Check every expression of some values."""
        for value in values:
            template = value.template
            # The two frequent cases first: this runs for every value of a file.
            if type(template) is Literal:
                continue
            if type(template) is Native and isinstance(value.node, Scalar):
                self._check(template.expr, value.node, value, place, names)
                continue
            for expr, scalar in expressions_in(value):
                self._check(expr, scalar, value, place, names)
            self._blocks(value, place, names)

    def args(self, args: Value, names: Names) -> None:
        """Check the args of a task; in `overruled` ones unknown names are not reported."""
        pairs, was = pairs_of(args.template), self.silent
        if pairs is None or self.overruled.isdisjoint(pairs):
            self.values((args,), Site.TASK, names)
            return
        # Two passes: first the args that are used, then silently those that every call replaces.
        for silent in (False, True):
            self.silent = was or silent
            shown = {key: inner for key, inner in pairs.items() if (key in self.overruled) is silent}
            part = args._replace(template=template_of_pairs(shown))
            for expr, scalar in expressions_in(part):
                self._check(expr, scalar, args, Site.TASK, names)
            self._blocks(part, Site.TASK, names)
        self.silent = was

    def guards(self, guards: Iterable[Guard], place: Site, names: Names) -> None:
        """Check some guards."""
        for guard in guards:
            self._check(guard.expr, guard.node, guard, place, names)

    def _blocks(self, value: Value, place: Site, names: Names) -> None:
        for block, scalar in placed_blocks(value):
            if place is not Site.TASK:
                message = f"block templates have no place in {place.value}"
                self.r.report("NL306", message, value.span, help=_INSTEAD.get(place, _ONE_EXPRESSION))
                return
            from noetlc.expr.block_names import expressions_inside  # few files have block templates

            for inside in expressions_inside(block.text):
                verdict = tuple(check_names(inside.expr, place, names, inside.bound)), self._undeclared(inside.expr)
                self._tell_all(verdict, scalar, value)

    def _check(self, expr: Expr, scalar: Scalar | None, around: Value | Guard, place: Site, names: Names) -> None:
        verdict = self._verdict(expr, place, names)
        if verdict is not _FINE:
            self._tell_all(verdict, scalar, around, expr)

    def _tell_all(
        self, verdict: _Verdict, scalar: Scalar | None, around: Value | Guard, expr: Expr | None = None
    ) -> None:
        problems, credentials = verdict
        asked = words_asked(expr) if expr is not None and problems else frozenset[str]()
        for problem in problems:
            reckoned = bool(problem.free) and problem.free in asked
            self._tell(problem, around, self._place(scalar, around, problem.start, problem.end), reckoned)
        for access in credentials:
            self._tell_credential(access, self._place(scalar, around, access.root.start, access.nodes[0].end))

    def _place(self, scalar: Scalar | None, around: Value | Guard, start: int, end: int) -> Span:
        return around.span if scalar is None else self.r.source.inner_span(scalar, start, end)

    def _verdict(self, expr: Expr, place: Site, names: Names) -> _Verdict:
        # Expressions are cached by their text, so equal ones are one object; ids are safe while the playbook holds
        # them.
        key = (id(expr), id(place), len(names.iterators))
        found = self._verdicts.get(key)
        if found is None:
            found = tuple(check_names(expr, place, names)), self._undeclared(expr)
            found = _FINE if found == _FINE else found
            # A verdict on bare names is not remembered: they may mean something else in each step.
            if not _has_bare_names(expr):
                self._verdicts[key] = found
        return found

    def _undeclared(self, expr: Expr) -> tuple[Access, ...]:
        """Uses of `keychain.x` without such an entry."""
        return tuple(
            access
            for access in accesses(expr)
            if access.root.name == "keychain" and access.keys and access.keys[0] not in self._keychain
        )

    def _tell_credential(self, access: Access, span: Span) -> None:
        name = str(access.keys[0])
        near = nearest(name, tuple(self._keychain))
        help = f"did you mean `{near}`?" if near else f"declare it: `keychain: [{{name: {name}, kind: …}}]`"
        self.r.report("NL213", f"the keychain has no entry `{name}`", span, help=help)

    def _tell(self, problem: NameProblem, around: Value | Guard, span: Span, reckoned: bool) -> None:
        """Report a problem with a name. In an older file a name is not reported whose absence its author `reckoned`
        with, by a default or a test.
        """
        if problem.free in self.inputs:
            return
        if problem.kind is NameProblemKind.LEGACY_FUNCTION:
            self.r.refuse(problem.message.partition(" is ")[0] + " (v1 dialect)", span, help=problem.help)
        # Older engines looked for such names in the payload, and many old playbooks count on it: a warning, and no
        # error.
        elif problem.kind is NameProblemKind.UNKNOWN and self.r.legacy_seen and not self.brought:
            found = Diagnostic("NL303", Severity.WARNING, *self._free(problem, span))
            if not reckoned and not self.silent:
                self.r.findings.append(found)
            # Kept even when not told: a migration writes them as what the payload brings, and must know all.
            self.unknown.append(UndeclaredName(problem.free, around, found))
        # Where args may bring any name, an unknown one may be one of them.
        elif problem.kind is not NameProblemKind.UNKNOWN or not self.open:
            help = problem.help
            if problem.free in self._keychain:
                help = _ENTRY.format(problem.free)
            elif problem.free and help.endswith("?"):
                help += f" If a payload brings it, write `workload.{problem.free}`"
            self.r.report(_CODES[problem.kind], problem.message, span, help=help)

    def _free(self, problem: NameProblem, span: Span) -> tuple[str, Span, str]:
        """The finding about a name that nothing declares, where only a payload may bring it."""
        word = problem.free
        if not word:
            return problem.message, span, problem.help
        if word in self._keychain:
            return problem.message, span, _ENTRY.format(word)
        if word in ("auth", "secret", "secrets"):
            return problem.message, span, "declare the secret in `keychain`, and write `{{ keychain.<name> }}`"
        if word in self._callers:
            return f"`{word}` is a task of the workbook, which has no result of its own", span, self._callers[word]
        near = f"{problem.help} If a payload brings it, " if problem.help.endswith("?") else ""
        secret = "; a secret belongs in `keychain`, and never in the log" if is_secret_name(word) else ""
        return f"nothing here gives `{word}`", span, f"{near}declare it: `workload: {{{word}: …}}`{secret}"


def _callers(playbook: Playbook) -> Iterator[tuple[str, str]]:
    """(workbook entry, help text for its name in an expression): a call's result has the name of the calling step."""
    for name, _ in playbook.workbook:
        steps = [step.name for step in playbook.steps if any(workbook_name(task) == name for task in step.tasks)]
        named = " or ".join(f"`{step}`" for step in steps[:3])
        known = f"write the step that calls it: {named}" if steps else "call it in a step, and write that step"
        yield name, known


_ENTRY = "write `keychain.{}` for the entry of the keychain"


def _check_workload(r: Reader, playbook: Playbook) -> None:
    spans = dict(playbook.workload_spans)
    for circle in order_of(workload_needs(playbook))[1]:
        path = " → ".join((*circle, circle[0]))
        r.report(
            "NL308",
            f"workload values read each other in a circle: {path}",
            spans[circle[0]],
            help="let one of them be a plain value",
        )


def _check_keychain(r: Reader, playbook: Playbook) -> None:
    """Entries may use each other, in whatever order they stand, but not in a circle."""
    spans = {entry.name: entry.name_span for entry in playbook.keychain}
    needs = {entry.name: tuple(sorted(_entries_read(entry))) for entry in playbook.keychain}
    for circle in order_of(needs)[1]:
        path = " → ".join((*circle, circle[0]))
        r.report("NL308", f"keychain entries read each other in a circle: {path}", spans[circle[0]])


def _entries_read(entry: KeychainEntry) -> set[str]:
    """The entries that the fields of one name."""
    return {
        str(access.keys[0])
        for _, value in entry.fields
        for expr in expressions_of(value.template)
        for access in accesses(expr)
        if access.root.name == "keychain" and access.keys
    }
