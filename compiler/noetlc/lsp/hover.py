"""Hover: what a key means, what a name in an expression stands for, and what is proved of a step."""

from collections.abc import Mapping, Sequence

from noetl_ir.error_codes import ERRORS
from noetl_ir.expr import expressions_of
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.analysis.extents import MOST, Extent
from noetlc.ast.playbook import Step
from noetlc.ast.walk import loops_of
from noetlc.expr.block_names import expressions_within
from noetlc.expr.closed import words_compared
from noetlc.expr.parser import parse_template
from noetlc.expr.paths import Access, accesses
from noetlc.lsp.completion import is_in_args, referred, step_around, task_around
from noetlc.lsp.cursor import touches
from noetlc.lsp.grammar import place_of
from noetlc.lsp.known import KnownFile, PlaybookView
from noetlc.lsp.scope_names import names_at, site_of
from noetlc.lsp.shapes import ValueShape
from noetlc.lsp.symbols import Scalars, scalars_in
from noetlc.lsp.words_compared import CODE_PATHS


class HoverText(NamedTuple):
    """A text in Markdown, and the place that it is about."""

    text: str
    span: Span


def scalar_at(known: KnownFile, line: int, column: int) -> Scalars | None:
    """The scalar at a place, the innermost one."""
    document = known.document_at(line)
    for one in scalars_in(document[0]) if document is not None else ():
        # Scalars come in the order of the file.
        if one.scalar.span.line > line:
            break
        if touches(one.scalar.span, line, column):
            return one
    return None


def said_at(known: KnownFile, line: int, column: int, extents: Sequence[Extent] = ()) -> HoverText | None:
    """The explanation of what stands at a place, line and column from 1; `extents` are those of its playbook."""
    one, view = scalar_at(known, line, column), known.view_at(line)
    if one is None or view is None:
        return None
    if one.is_key:
        place = place_of([(level.node, level.key) for level in one.levels])
        sentence = place.sentence()
        return HoverText(f"**{one.scalar.text}**: {sentence}", one.scalar.span) if sentence else None
    if _names_step(one):
        step = view.steps.get(one.scalar.text)
        return HoverText(about_step(step, extents), one.scalar.span) if step is not None else None
    return _in_expression(known, view, one, (line, column))


def is_of_step(known: KnownFile, line: int, column: int) -> bool:
    """Whether the name of a step stands at a place: only then is it asked how often steps run."""
    one = scalar_at(known, line, column)
    return one is not None and not one.is_key and _names_step(one)


def _names_step(one: Scalars) -> bool:
    """Whether a value is the name of a step, its own or one that leads to it."""
    return one.path[-1:] == ("step",) or referred(one.levels) == "step"


def about_step(step: Step, extents: Sequence[Extent]) -> str:
    """A step in words: what it does, how often it runs and beside what."""
    kinds = ", ".join(f"`{task.kind}`" for task in step.tasks if not task.generated) or "a router"
    loop = "".join(f", for each `{each.iterator}`" for each in loops_of(step))
    lines = [f"**{step.name}**: {kinds}{loop}"]
    if step.desc:
        lines.append(step.desc)
    extent = next((each for each in extents if each.step == step.name), None)
    if extent is not None:
        lines.append(runs_of(extent))
        if extent.beside:
            lines.append(f"Can run beside {', '.join(f'`{name}`' for name in extent.beside)}.")
    return "\n\n".join(lines)


def runs_of(extent: Extent) -> str:
    """How often a step runs, in words."""
    if extent.runs is None:
        return "Runs any number of times: a cycle leads back to it."
    if extent.runs == 0:
        return "Never runs."
    if extent.runs > MOST:
        return f"Runs more than {MOST} times at most: no more than {extent.runs} were counted."
    return "Runs at most once." if extent.runs == 1 else f"Runs at most {extent.runs} times."


def _in_expression(known: KnownFile, view: PlaybookView, one: Scalars, at: tuple[int, int]) -> HoverText | None:
    """The meaning of the name at a place in a template."""
    if (code := _code_at(known, one, at)) is not None:
        return code
    step = step_around(one.levels, view)
    names = names_at(view, site_of(one.path), step, task_around(one.levels, step), is_arg=is_in_args(one.levels))
    for access in _accesses(one.scalar.text):
        # Each part of a dotted path has a meaning of its own: in `a.b.c` the word under the cursor says how many keys
        # count.
        ends = [access.root.end, *(node.end for node in access.nodes)]
        for number, end in enumerate(ends):
            start = access.root.start if number == 0 else ends[number - 1]
            if not touches(known.source.inner_span(one.scalar, start, end), *at):
                continue
            path = ".".join([access.root.name, *(str(key) for key in access.keys[:number])])
            shape = _shape(names, access, number)
            span = known.source.inner_span(one.scalar, access.root.start, end)
            return HoverText(_meaning(path, shape), span) if shape is not None and shape.what else None
    return None


def _code_at(known: KnownFile, one: Scalars, at: tuple[int, int]) -> HoverText | None:
    """The meaning of a code of errors that something is compared with at a place."""
    template = parse_template(one.scalar.text).template
    for expr in (*expressions_of(template), *(inside.expr for inside in expressions_within(template))):
        for path, const in words_compared(expr):
            span = known.source.inner_span(one.scalar, const.start, const.end)
            if path in CODE_PATHS and str(const.value) in ERRORS and touches(span, *at):
                return HoverText(f"**{const.value}**: {ERRORS[str(const.value)]}", span)
    return None


def _accesses(text: str) -> list[Access]:
    template = parse_template(text).template
    found = [access for expr in expressions_of(template) for access in accesses(expr)]
    # Blocks are no expressions to the parser: what they hold is read apart.
    hidden = [access for inside in expressions_within(template) for access in accesses(inside.expr)]
    return [access for access in (*found, *hidden) if not access.called]


def _shape(names: Mapping[str, ValueShape], access: Access, number: int) -> ValueShape | None:
    shape: ValueShape | None = names.get(access.root.name)
    for key in access.keys[:number]:
        shape = shape.keys.get(str(key)) if shape is not None else None
    return shape


def _meaning(path: str, shape: ValueShape) -> str:
    keys = f"\n\nIts keys: {', '.join(f'`{key}`' for key in shape.keys)}." if shape.keys else ""
    return f"**{path}**: {shape.what}{keys}"
