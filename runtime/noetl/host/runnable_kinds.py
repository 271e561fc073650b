"""Whether a plan can run on this machine: the kinds of its tasks, and what its executor section requires.

That is checked before the first event, as the secrets are. Otherwise a run would go on until it comes to such a task,
whose error a loop or a rule may swallow. Where a script stands in for tools, nothing is checked.
"""

from collections.abc import Iterator
from functools import cache

from noetl_ir.expr import Json, Literal
from noetl_ir.kinds import Kind
from noetl_ir.plan import Plan, fields_of
from noetl_ir.plan_format import open_plan
from noetl_ir.registry import MissingPart, can_import, load

ENGINES = ("podman", "docker", "nerdctl")
"""Programs that run containers, in the order in which they are looked for."""

VERSION = "noetl-runtime/1"
"""The version of a runtime's meaning that `executor.version` may name."""
FEATURES = frozenset({
    "case_v1", "case_v2", "event_sourcing", "jinja2", "loop_v1", "loop_v2", "result_storage", "sink_v1", "templating",
    "vars_v1", "vars_v2",
})  # fmt: skip
"""The features that older runtimes were asked for by name; the language has them all."""
INSTALLER = "pip install 'noetlc[requirements]'"
OLDER_KINDS = frozenset({"auth", "iterator", "sink", "workbook"})
"""Words of older playbooks for tools that are constructs here."""


@cache
def lacking(kind: str) -> str:
    """Why tasks of a kind cannot run here, as the end of a sentence about the kind; empty where they can."""
    try:
        known = load("noetl_ir.kinds", kind, "KIND", Kind)
    except MissingPart:
        return "is not known here: what brings it is not installed"
    if not known.available:
        return "is not run by this version"
    if known.module and not can_import(known.module):
        return f"needs the extra: pip install 'noetlc[{kind}]'"
    if kind == "container" and not _has_engine():
        return f"needs a container engine: none of {', '.join(ENGINES)} is on PATH"
    return ""


def unable(plan: Plan) -> tuple[str, ...]:
    """A sentence for each thing that a plan, or a child in it, needs and that is not here: kinds of its tasks, and what
    `executor.requires` and `executor.version` name.
    """
    return tuple(dict.fromkeys(_unable(plan)))


def _unable(plan: Plan) -> Iterator[str]:
    for kind in plan.kinds:
        if why := lacking(kind):
            step = next((plan.steps[task.step].name for task in plan.tasks if task.kind == kind), "")
            where = f" of step `{step}`" if step else ""
            yield f"the kind `{kind}`{where} in `{plan.path or plan.name}` {why}"
    yield from _unmet(plan)
    if "python" in plan.kinds and not _can_install() and (step := _installing(plan)):
        yield f"step `{step}` in `{plan.path or plan.name}` has `requirements`, for which uv is needed: {INSTALLER}"
    # Children too: a run that fails in its child for want of a program could have been refused at its start.
    for child in plan.children:
        yield from _unable(open_plan(child.data))


def _installing(plan: Plan) -> str:
    """The name of a step with a python task that asks for packages; empty where none does."""
    for task in plan.tasks:
        if task.kind == "python":
            asked = (fields_of(plan, task) or {}).get("requirements", Literal([]))
            if asked not in (Literal([]), Literal(None)):
                return plan.steps[task.step].name
    return ""


def _can_install() -> bool:
    from noetl.host.python_environments import installer

    return installer() is not None


def _unmet(plan: Plan) -> Iterator[str]:
    """The sentences about what the executor section asks for."""
    where, requires = f"`{plan.path or plan.name}` requires", plan.executor.get("requires")
    version = plan.executor.get("version")
    if version is not None and version != VERSION:
        yield f"{where} the runtime `{version}`, and this one is `{VERSION}`"
    asked = requires if isinstance(requires, dict) else {}
    for kind in _names(asked.get("tools")):
        if kind not in plan.kinds and kind not in OLDER_KINDS and (why := lacking(kind)):
            yield f"{where} the kind `{kind}`, which {why}"
    for feature in _names(asked.get("features")):
        if feature not in FEATURES:
            yield f"{where} the feature `{feature}`, and there are {', '.join(sorted(FEATURES))}"


def _names(value: Json) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else []


def _has_engine() -> bool:
    from shutil import which  # few runs ask

    return any(map(which, ENGINES))
