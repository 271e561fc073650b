"""The executor section: the entry, limits, and defaults for all steps (LANGUAGE §1)."""

from noetl_ir.words import PHASES
from noetlc.ast.playbook import Executor, Phase
from noetlc.reading.drafts import ExecutorDraft
from noetlc.reading.reader import Reader, Table, no_effect, stray_key, take_all
from noetlc.reading.shapes import (
    boolean_of,
    choice_of,
    is_empty,
    mapping_of,
    reference_of,
    sequence_of,
    text_of,
    whole_of,
)
from noetlc.reading.specs import PolicyKeys, attempt_limit, failure_mode, lifetime, take_policy, take_spec
from noetlc.reading.values import plain, read_lifetime, read_value
from noetlc.source.nodes import Mapping, Node, Scalar

LIMITS = (
    "max_payload_bytes", "max_tasks_per_run", "max_lost", "max_children_depth", "max_step_runs", "max_tokens",
)  # fmt: skip
RUNTIMES = ("local", "distributed", "auto")
"""The kinds of runtime that there are; both run every playbook, and none is quantum."""
REQUIRES = ("tools", "features")


def read_executor(r: Reader, node: Node) -> Executor | None:
    """The section; None where it is no mapping."""
    mapping = mapping_of(r, node, "`executor`")
    if mapping is None:
        return None
    draft = ExecutorDraft()
    take_all(r, "executor", r.tables.executor, draft, mapping)
    return executor_of(draft)


def executor_of(draft: ExecutorDraft) -> Executor:
    """The section as far as the draft holds it; a fresh draft gives the defaults."""
    return Executor(
        draft.plain,
        tuple(draft.knobs),
        draft.pool,
        draft.entry_step,
        draft.entry_span,
        tuple(draft.limits),
        draft.reference_first,
        draft.failure_mode,
        tuple(draft.extras),
        None if draft.inputs is None else tuple(draft.inputs),
        draft.lifecycle_timeout,
        draft.result,
        draft.timeout,
        draft.tasks,
        tuple([draft.phases[name] for name in PHASES if name in draft.phases]),
        draft.after,
        draft.compensate_on,
        draft.reducers,
        draft.concurrency,
        draft.compensate_on_span,
        draft.search,
    )


def _plain(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    draft.plain[key.text] = plain(r, node, f"`executor.{key.text}`")


def _runtime(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    what = f"`executor.{key.text}`"
    written = plain(r, node, what)
    if isinstance(written, str) and "{{" in written:  # told already
        return
    if written is not None and (value := choice_of(r, node, what, RUNTIMES)) is not None:
        draft.plain[key.text] = value


def _requires(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    mapping = mapping_of(r, node, "`executor.requires`")
    if mapping is None:
        return
    for name, value in mapping.entries:
        if name.text not in REQUIRES:
            stray_key(r, "requires", name, REQUIRES)
        elif (listed := sequence_of(r, value, f"`requires.{name.text}`", "names")) is not None:
            for item in listed.items:
                text_of(r, item, f"a name in `requires.{name.text}`")
    draft.plain[key.text] = plain(r, node, "`executor.requires`")


def _spec(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    mapping = mapping_of(r, node, "`executor.spec`")
    if mapping is not None:
        take_spec(r, "executor_spec", r.tables.executor_spec, draft, draft.knobs, mapping)


def _entry_step(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    draft.entry_step = reference_of(r, node, "`entry_step`")
    draft.entry_span = node.span


def _pool(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    draft.pool = text_of(r, node, "`pool`")


def _inputs(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    from noetlc.reading.inputs import read_inputs  # most files declare none

    draft.inputs = read_inputs(r, node)


def _result(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    if not is_empty(node):
        draft.result = read_value(r, node)


def _tasks(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    from noetlc.reading.defaults import read_defaults  # most files have none

    draft.tasks = read_defaults(r, node)


def _phase(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    named = node.get("step") if isinstance(node, Mapping) else None
    if isinstance(named, Scalar):  # as a compensation may be written
        help = f"write `{key.text}: {named.text}`"
        r.report("NL102", f"`{key.text}`: expected a name, found a mapping", node.span, help=help)
        return
    step = reference_of(r, node, f"`{key.text}`")
    if step is not None:
        draft.phases[key.text] = Phase(key.text, step, node.span)


def _compensate_on(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    from noetlc.reading.phases import read_causes  # few files have it

    draft.compensate_on = read_causes(r, node)
    draft.compensate_on_span = node.span


def _after(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    draft.after = read_lifetime(r, node, "a phase", key="after_s")


def _concurrency(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    from noetlc.reading.concurrency import read_concurrency  # most files have none

    draft.concurrency = read_concurrency(r, key, node)


def _search(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    from noetlc.reading.search import read_search  # most files have none

    draft.search = read_search(r, node)


def _ctx(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    from noetlc.reading.reducers import read_reducers  # most files have none

    draft.reducers = read_reducers(r, node)


def _policy(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    mapping = mapping_of(r, node, "`executor.spec.policy`")
    if mapping is not None:
        take_policy(r, "executor_policy", r.tables.executor_policy, draft, mapping)


def _reference_first(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    draft.reference_first = boolean_of(r, node, "`reference_first`") or False


def _limit(r: Reader, draft: ExecutorDraft, key: Scalar, node: Node) -> None:
    value = whole_of(r, node, f"`{key.text}`", 1)
    if value is not None:
        draft.limits.append((key.text, value))


KEYS: Table[ExecutorDraft] = {
    "kind": _runtime,
    "profile": _runtime,
    "version": _plain,
    "requires": _requires,
    "spec": _spec,
    "final_step": no_effect,
    "no_next_is_error": no_effect,
}
SPEC_KEYS: Table[ExecutorDraft] = {
    "entry_step": _entry_step,
    "inputs": _inputs,
    "result": _result,
    **dict.fromkeys(PHASES, _phase),
    "compensate_on": _compensate_on,
    "pool": _pool,
    "timeout": attempt_limit,
    "tasks": _tasks,
    "ctx": _ctx,
    "concurrency": _concurrency,
    "search": _search,
    "policy": _policy,
    "final_step": no_effect,
    "no_next_is_error": no_effect,
}
POLICY_KEYS: Table[ExecutorDraft] = {
    "results": PolicyKeys("results", {"reference_first": _reference_first}),
    "limits": PolicyKeys("limits", dict.fromkeys(LIMITS, _limit)),
    "failure": PolicyKeys("failure", {"mode": failure_mode}),
    "lifecycle": PolicyKeys("lifecycle", {"timeout_s": lifetime("an execution"), "after_s": _after}),
    "defaults": no_effect,
    "placement": no_effect,
    "cost": no_effect,
}
