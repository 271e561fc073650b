"""Sentences under a picture about what a playbook declares of its executions: what they may be given, and give."""

from collections.abc import Iterator, Sequence

from noetl_ir.expr import Literal, Template
from noetl_ir.plan import Plan
from noetlc.ast.playbook import Playbook
from noetlc.emit.pictures.metrics import clipped

MAX_CAPTION = 160
"""Characters of a sentence."""


def captions_of(playbook: Playbook) -> tuple[str, ...]:
    """The sentences about a playbook."""
    executor = playbook.executor
    inputs = None if executor.inputs is None else [(one.name, one.required) for one in executor.inputs]
    place = executor.concurrency
    return tuple(
        _sentences(
            inputs,
            None if executor.result is None else executor.result.template,
            None if place is None else (place.key.template, place.limit, place.on_conflict),
            [(one.key, one.reduce) for one in executor.reducers],
        )
    )


def captions_of_plan(plan: Plan) -> tuple[str, ...]:
    """The sentences about a plan, the same as those about its playbook."""
    inputs = None if plan.inputs is None else [(one.name, one.required) for one in plan.inputs]
    place = plan.concurrency
    return tuple(
        _sentences(
            inputs,
            plan.templates[plan.result] if plan.result >= 0 else None,
            None if place is None else (plan.templates[place.key], place.limit, place.on_conflict),
            [(row.key, row.reduce) for row in plan.reducers],
        )
    )


def _sentences(
    inputs: Sequence[tuple[str, bool]] | None,
    result: Template | None,
    place: tuple[Template, int, str] | None,
    reducers: Sequence[tuple[str, str]],
) -> Iterator[str]:
    if inputs is not None:
        names = [f"{name} (must be given)" if required else name for name, required in inputs]
        yield clipped(f"inputs: {', '.join(names) or 'none'}", MAX_CAPTION)
    if reducers:
        yield clipped(f"ctx: {', '.join(f'{key} ({reduce})' for key, reduce in reducers)}", MAX_CAPTION)
    if place is not None:
        key, limit, on_conflict = place
        yield clipped(f"at most {limit} at once under {_text(key)}, else {on_conflict}", MAX_CAPTION)
    if result is not None:
        yield clipped(f"result: {_text(result)}", MAX_CAPTION)


def _text(template: Template) -> str:
    from noetlc.analysis.facts import template_text  # most playbooks declare nothing

    return str(template.value) if isinstance(template, Literal) else template_text(template)
