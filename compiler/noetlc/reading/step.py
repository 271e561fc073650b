"""A step of the workflow with its spec (v10 §5.2)."""

from noetlc.ast.playbook import Interrupt, Merge, Step, StepSpec, Task
from noetlc.ast.walk import failure_mode_of
from noetlc.reading.admit import read_admit
from noetlc.reading.declared import take_assert
from noetlc.reading.drafts import StepDraft, StepSpecDraft
from noetlc.reading.heard import BOTH, read_heard
from noetlc.reading.kinds import kind_of
from noetlc.reading.loop import read_loop
from noetlc.reading.reader import Reader, Table, no_effect, stray_key, take_all
from noetlc.reading.routing import read_router
from noetlc.reading.shapes import (
    choice_of,
    is_empty,
    is_misspelt,
    mapping_of,
    missing,
    name_of,
    quotes_told,
    text_of,
    whole_of,
    wrong_shape,
)
from noetlc.reading.specs import PolicyKeys, attempt_limit, failure_mode, lifetime, take_policy, take_spec
from noetlc.reading.task import read_tool
from noetlc.reading.word_tool import STEP_KEYS, has_word_tool, sink_of_words, tool_of_call, tool_of_words
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, mapping_at


def read_step(r: Reader, node: Node) -> Step | None:
    """A step; one without a tool is a router and gets a noop (LANGUAGE §1)."""
    if not isinstance(node, Mapping):
        wrong_shape(r, node, "a step", "a mapping that begins with `step: <name>`")
        return None
    draft = StepDraft()
    _take_keys(r, draft, node)
    if node.get("step") is None and not is_misspelt(node, "step", r.tables.step):
        missing(
            r,
            "the name `step`",
            node.entries[0][0].span if node.entries else node.span,
            help="write `- step: <name>`",
        )
    if not draft.name:
        return None
    # The tool is read last: a lone task is named after the step, whose name may stand below it.
    if draft.tool is not None:
        draft.tool = r.forms.unfold(r, draft, draft.tool)
    tasks = _tasks(r, draft)
    spec = draft.spec or _spec_of(StepSpecDraft())
    if not spec.failure_mode:
        spec = spec._replace(failure_mode=failure_mode_of(draft.loop))
    extras = tuple(draft.extras)
    return Step(draft.name, draft.name_span, node.span, draft.desc, spec, draft.loop, tasks, draft.router, extras)


def _take_keys(r: Reader, draft: StepDraft, node: Mapping) -> None:
    """Take the step's keys. Where the tool is a word (v1), all its fields are keys of the step: one
    construct.
    """
    # The canonical form comes first, and costs older ones nothing but this question.
    if not has_word_tool(node):
        take_all(r, "step", r.tables.step, draft, _without_stray_tool(r, node))
        return
    stored = sink_of_words(r, node)
    if stored is None:
        draft.tool, own = tool_of_words(r, node)
    else:
        own = [entry for entry in node.entries if entry[0].text in STEP_KEYS]
        if stored[1].entries:
            r.forms.save(r, draft, *stored)
    for key, value in own:
        take = r.tables.step.get(key.text)
        if take is not None:
            take(r, draft, key, value)
        else:
            stray_key(r, "step", key, tuple(r.tables.step))


def _without_stray_tool(r: Reader, node: Mapping) -> Mapping:
    """A step whose tool, or fields of it, stand beside `tool:` instead of under it, without what strayed: one mistake,
    one finding.
    """
    tool, kind = node.get("tool"), node.key("kind")
    if isinstance(tool, Mapping):
        return _with_strayed_fields(r, node, tool)
    if tool is None or kind is None or not is_empty(tool):
        return node
    message = "`kind` belongs to the tool, and stands beside it"
    r.report("NL101", message, kind.span, help="indent it under `tool`, with the fields of the tool")
    # `tool:` with nothing under it and the tool beside it is one slip of indentation; its fields are no keys of a
    # step.
    own = [entry for entry in node.entries if entry[0].text in r.tables.step]
    return mapping_at(own, node.span)


def _with_strayed_fields(r: Reader, node: Mapping, tool: Mapping) -> Mapping:
    word = tool.get("kind")
    kind = kind_of(word.text) if isinstance(word, Scalar) else None
    # A key that a step has itself is the step's, whatever the kind.
    fields = frozenset() if kind is None else frozenset(kind.fields) - {*r.tables.step, *r.legacy.get("step", {})}
    strayed = [entry for entry in node.entries if entry[0].text in fields and tool.get(entry[0].text) is None]
    if not strayed or kind is None:
        return node
    for key, _ in strayed:
        message = f"`{key.text}` is a field of the `{kind.name}` task, and stands beside `tool`"
        r.report("NL101", message, key.span, help="indent it under `tool`, below `kind`")
    # The fields are read where they were meant, so that none of them is missing besides.
    whole = mapping_at([*tool.entries, *strayed], tool.span)
    kept = [entry for entry in node.entries if not any(entry[0] is key for key, _ in strayed)]
    return mapping_at([(key, whole if value is tool else value) for key, value in kept], node.span)


def _tasks(r: Reader, draft: StepDraft) -> tuple[Task, ...]:
    if draft.tool is not None and not is_empty(draft.tool):
        tasks = read_tool(r, draft.name, draft.tool)
        if tasks:  # the list may be empty, or all of it wrong
            return tasks
    at = draft.name_span
    return (Task(f"{draft.name}_task", at, "noop", at, at, "", (), None, (), None, (), False, True),)


def _spec_of(draft: StepSpecDraft) -> StepSpec:
    return StepSpec(
        draft.pool,
        draft.timeout,
        draft.admit,
        draft.join,
        draft.join_span,
        draft.lifecycle_timeout,
        draft.failure_mode,
        tuple(draft.knobs),
        draft.terminate,
        draft.terminate_span,
        draft.compensate,
        tuple(draft.cancels),
        tuple(draft.locks),
        draft.interrupt,
    )


def _name(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    draft.name = name_of(r, node, "the step's name") or ""
    draft.name_span = node.span


def _desc(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    draft.desc = text_of(r, node, "`desc`") or ""


def _spec(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    mapping = mapping_of(r, node, "`step.spec`")
    if mapping is not None:
        spec = StepSpecDraft()
        take_spec(r, "step_spec", r.tables.step_spec, spec, spec.knobs, mapping)
        draft.spec = _spec_of(spec)
        draft.extras += spec.extras


def _loop(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    draft.loop = read_loop(r, node)


def _tool(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    draft.tool = node


def take_call(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    """`call: {task, with}`: a task of the workbook."""
    draft.tool = tool_of_call(r, key, node)


def _next(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    # A mapping with a target is an arc in the place of a router, which is an older form.
    if isinstance(node, Mapping) and node.key("step") is None and node.key("to") is None:
        draft.router = read_router(r, node)
        return
    if isinstance(node, Scalar) and node.value is None:
        return
    r.forms.next(r, draft, node)


def _pool(r: Reader, draft: StepSpecDraft, key: Scalar, node: Node) -> None:
    draft.pool = text_of(r, node, "`pool`")


def _policy(r: Reader, draft: StepSpecDraft, key: Scalar, node: Node) -> None:
    mapping = mapping_of(r, node, "`step.spec.policy`")
    if mapping is not None:
        take_policy(r, "step_policy", r.tables.step_policy, draft, mapping)


def _admit(r: Reader, draft: StepSpecDraft, key: Scalar, node: Node) -> None:
    draft.admit = read_admit(r, node)


def _join(r: Reader, draft: StepSpecDraft, key: Scalar, node: Node) -> None:
    draft.join_span = node.span
    if isinstance(node, Scalar) and isinstance(node.value, int) and not isinstance(node.value, bool):
        if node.value >= 1:
            draft.join = node.value
            return
        r.report("NL104", "`join`: a number of tokens is at least 1", node.span)
        return
    if isinstance(node, Mapping):
        take_policy(r, "join", MERGE_KEYS, draft, node)
        if not node.entries:
            r.report("NL102", "`join`: a mapping has to say `tokens`, a number", node.span)
        return
    # `join: "2"` would else be told as none of the words.
    if quotes_told(r, "NL104", "`join`:", node, (int,)):
        return
    draft.join = choice_of(r, node, "`join`", ("any", "all", "taken", "first", "settled")) or "any"


def _tokens(r: Reader, draft: StepSpecDraft, key: Scalar, node: Node) -> None:
    from noetl_ir.verify.tables import MOST_MERGED

    tokens = whole_of(r, node, "`tokens`", 1)
    if tokens is not None and tokens > MOST_MERGED:
        r.report("NL104", f"`tokens`: {tokens} is above {MOST_MERGED:,}", node.span)
    elif tokens is not None:
        draft.join = Merge(tokens)


def _compensate(r: Reader, draft: StepSpecDraft, key: Scalar, node: Node) -> None:
    from noetlc.reading.phases import read_compensate  # few steps have it

    draft.compensate = read_compensate(r, node)


def _interrupt(r: Reader, draft: StepSpecDraft, key: Scalar, node: Node) -> None:
    what, since = "`interrupt`", "the admission of the run"
    heard = read_heard(r, "interrupt", BOTH, key, node, what=what, since=since)
    if heard is not None:
        draft.interrupt = Interrupt(heard.events, heard.timers, key.span)


def _terminate(r: Reader, draft: StepSpecDraft, key: Scalar, node: Node) -> None:
    from noetl_ir.verify.tables import ENDS  # few steps have it, and lint starts without plans

    draft.terminate = choice_of(r, node, "`terminate`", ENDS) or ""
    draft.terminate_span = node.span


def _cancels(r: Reader, draft: StepSpecDraft, key: Scalar, node: Node) -> None:
    from noetlc.reading.locks import steps_named  # few steps have it

    draft.cancels += steps_named(r, node, "`cancels`")
    if isinstance(node, Sequence) and not node.items:
        help = "name the steps that a run of this one cancels, or leave it out"
        r.report("NL222", "`cancels` is empty: the step cancels nothing", node.span, help=help)


def _lock(r: Reader, draft: StepSpecDraft, key: Scalar, node: Node) -> None:
    from noetlc.reading.locks import read_locks  # few steps have it

    draft.locks += read_locks(r, node)


KEYS: Table[StepDraft] = {
    "step": _name,
    "desc": _desc,
    "spec": _spec,
    "loop": _loop,
    "tool": _tool,
    "assert": take_assert,
    "next": _next,
}
SPEC_KEYS: Table[StepSpecDraft] = {"pool": _pool, "timeout": attempt_limit, "policy": _policy}
MERGE_KEYS: Table[StepSpecDraft] = {"tokens": _tokens}
POLICY_KEYS: Table[StepSpecDraft] = {
    "admit": _admit,
    "join": _join,
    "lifecycle": PolicyKeys("lifecycle", {"timeout_s": lifetime("a step run"), "deadline_s": no_effect}),
    "failure": PolicyKeys("failure", {"mode": failure_mode}),
    "terminate": _terminate,
    "compensate": _compensate,
    "cancels": _cancels,
    "interrupt": _interrupt,
    "lock": _lock,
    "emit": no_effect,
    "tracing": no_effect,
    "quotas": no_effect,
    "compensation": no_effect,
}
