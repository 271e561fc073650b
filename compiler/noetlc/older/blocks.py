"""Block tags, `{% if %}`, at places that have none (LANGUAGE §2).

lower_blocks: block templates where none may stand are rendered by a task (LANGUAGE §2).

    next: [{step: b, args: {n: "{% if ctx.a %}1{% endif %}"}}]
        →  __s__blocks   args: {__s__block: "{% if … %}"}, iter.__s__block = outcome.result.__s__block
           arcs: [{step: b, args: {n: "{{ iter.__s__block }}"}}]
    vars: {n: "{% if result %}1{% endif %}"}
        →  __t__rendered   behind the task t: args: {n: "{% set result = _prev %}{% if … %}"}, ctx.n = outcome.result.n
    workload: {n: "{% if … %}"}
        →  the step __start__blocks, which sets ctx.n; reads of `workload.n` follow

Where the task could not render what the place would see, the template is refused. In a file without any legacy
construct such block templates are errors, and stay what they are.
"""

from noetl_ir.expr import Block, Expr, MapTemplate, Name
from noetl_ir.paths import static_path
from noetl_ir.span import Span
from noetlc.ast.bodies import all_taken
from noetlc.ast.playbook import Arc, Pairs, Playbook, Rule, Step, Task, Value
from noetlc.ast.sugar import Guess
from noetlc.ast.walk import all_values, blocks_in, expressions_in, replace_steps, task_values
from noetlc.ast.workload import SCOPE
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.binding import bound, with_blocks, words_in
from noetlc.expr.generated import computed, generated_name, noop
from noetlc.expr.paths import accesses
from noetlc.expr.shorthand import FALSE, otherwise, path
from noetlc.older.events import on_failed
from noetlc.older.following import entered, followed
from noetlc.older.hoisting import Blocks, rendering, without_blocks
from noetlc.older.legacy_names import ROOTS, declared_names
from noetlc.older.patching import GOES_ON


class OldBlocks(Guess):
    """Some text of the file may have block tags."""

    span: Span


BY = "lower_blocks"


_FAILURE = frozenset({"status", "error"})

_RESULT = ("result", "response", "data")
"""Old words for the result of the task before."""

_LATE = (ROOTS | {"outcome", "event", "_attempt", "_elapsed"}) - {*_RESULT, "vars"}
"""What only a task's policy knows."""


def lower_blocks(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which block templates stand in fields of tasks."""
    asked, playbook = all_taken(playbook, OldBlocks)
    if not asked or not playbook.legacy:
        return playbook
    known = declared_names(playbook)
    # The old words go first: a block template keeps its text, into which later passes do not look, and `vars` in it
    # would be undefined.
    playbook = _without_old_words(playbook, known)
    playbook = replace_steps(playbook, lambda step: _of_arcs(_of_rules(step, known, record), record))
    return _of_workload(playbook, record)


def _without_old_words(playbook: Playbook, known: frozenset[str]) -> Playbook:
    """The playbook whose fields read `ctx` where their block templates say `vars`."""
    if "vars" in known:
        return playbook

    def renamed(task: Task) -> Task:
        if not any("vars" in words_in(block) for value in task_values(task) for block in blocks_in(value)):
            return task

        def each(value: Value) -> Value:
            made = with_blocks(value.template, lambda block: bound(block, {"vars": Name("ctx")}))
            return value if made is value.template else Value(made, value.span, None)

        fields = tuple((key, each(value)) for key, value in task.fields)
        return task._replace(fields=fields, args=None if task.args is None else each(task.args))

    return replace_steps(playbook, lambda step: step._replace(tasks=tuple(renamed(task) for task in step.tasks)))


# What rules set


def _of_rules(step: Step, known: frozenset[str], record: RecordChange) -> Step:
    """The step with a task behind each task whose rules set what a block template gives."""
    tasks: list[Task] = []
    for number, task in enumerate(step.tasks):
        behind = step.tasks[number + 1].name if number + 1 < len(step.tasks) else ""
        tasks += _rendered(step, task, behind, known, record)
    return step if len(tasks) == len(step.tasks) else step._replace(tasks=tuple(tasks))


def _rendered(step: Step, task: Task, behind: str, known: frozenset[str], record: RecordChange) -> list[Task]:
    """The task and those that render what its rules set; `behind` is the task after it."""
    made: list[Task] = []
    rules: list[Rule] = []
    rendered: list[Rule] = []
    for rule in task.rules:
        blocks = [block for _, value in (*rule.set_iter, *rule.set_ctx) for block in blocks_in(value)]
        if not blocks:
            rules.append(rule)
            continue
        why = _late(rule, blocks, known)
        if why:
            record(Change(BY, rule.span, "a block template", "refused", why))
            rules.append(_without_blocks(rule))
            continue
        record(Change(BY, rule.span, "a block template", "safe", "a task behind that renders it"))
        rendered.append(rule)
        name = generated_name(task.name, "rendered" if not made else f"rendered{len(made)}")
        made.append(_rendering(name, rule, step.name, known, behind))
        rules.append(_without_blocks(rule)._replace(directive="jump", to=name, to_span=rule.span, delay=None))
    if not made:
        return [task._replace(rules=tuple(rules))]
    # Rules with guards and no last one would take the default for what is left, which goes on into the rendering
    # task: it would set what no rule asked for.
    if rules[-1].when is not None:
        rules.append(Rule(None, "continue", task.span))
    # The last rendering task falls into the next one anyway; a jump to it would be one that nobody would write.
    if rendered[-1].directive == "continue":  # the next task stands behind the last of those that render
        made[-1] = made[-1]._replace(rules=(made[-1].rules[0]._replace(directive="continue", to=None, to_span=None),))
    # With one rendering task and no rule that passes it, falling through reaches it: no jumps over it are needed.
    if len(made) == 1 and not any(rule.directive == "continue" for rule in rules):
        return [task._replace(rules=tuple(_falling(rule, made[0].name) for rule in rules)), *made]
    return [task._replace(rules=tuple(_past(rule, behind) for rule in rules)), *made]


def _late(rule: Rule, blocks: list[Block], known: frozenset[str]) -> str:
    """Why a task behind cannot render what a rule sets, or ""."""
    hidden = sorted(frozenset[str]().union(*map(words_in, blocks)) & _LATE - known)
    if not hidden and rule.directive in GOES_ON:
        return ""
    why = f"`{hidden[0]}` is not known in" if hidden else f"a rule that says `{rule.directive}` does not lead to"
    return f"{why} the task that would render it: write one expression, or set the result of a task"


def _without_blocks(rule: Rule) -> Rule:
    return rule._replace(set_iter=_plain(rule.set_iter), set_ctx=_plain(rule.set_ctx))


def _falling(rule: Rule, name: str) -> Rule:
    """A rule that jumps to the next task, as one that goes on."""
    return rule._replace(directive="continue", to=None, to_span=None) if rule.to == name else rule


def _plain(pairs: Pairs) -> Pairs:
    return tuple((key, value) for key, value in pairs if not any(True for _ in blocks_in(value)))


def _past(rule: Rule, behind: str) -> Rule:
    """A rule that goes on to the next task, and not to those that render."""
    if rule.directive != "continue":
        return rule
    if not behind:
        return rule._replace(directive="break")
    return rule._replace(directive="jump", to=behind, to_span=rule.span)


def _rendering(name: str, rule: Rule, step: str, known: frozenset[str], behind: str) -> Task:
    """The task that renders what a rule sets, sets it, and does what the rule does."""
    # One task further, the result that the rule read is that of the task before. The step has no result under its
    # name yet, so its name is meant that way as well.
    result: dict[str, Expr] = {word: Name("_prev") for word in (*_RESULT, step) if word == step or word not in known}
    meanings = {**result, "vars": Name("ctx")}
    blocks: Pairs = tuple(
        (key, Value(with_blocks(value.template, lambda block: bound(block, meanings)), value.span, None))
        for key, value in (*rule.set_iter, *rule.set_ctx)
        if any(True for _ in blocks_in(value))
    )
    keys = frozenset(key for key, _ in blocks)
    args = Value(MapTemplate(tuple((key, value.template) for key, value in blocks)), rule.span, None)
    sets = [
        tuple((key, computed(path("outcome", "result", key), rule.span)) for key, _ in pairs if key in keys)
        for pairs in (rule.set_iter, rule.set_ctx)
    ]
    going = _past(rule, behind)._replace(when=None, set_iter=sets[0], set_ctx=sets[1])
    return noop(name, rule.span, (going,))._replace(args=args)


# Values of the workload


def _of_workload(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which an entry step renders the block templates of the workload."""
    found = {key: value for key, value in playbook.workload if any(True for _ in blocks_in(value))}
    if not found:
        return playbook
    for key, value in found.items():
        why = _reader_of(playbook, key)
        if why:
            record(Change(BY, value.span, f"a block template in `workload.{key}`", "refused", why))
        else:
            record(Change(BY, value.span, f"a block template in `workload.{key}`", "safe", "set by a first step"))
    span = next(iter(found.values())).span
    # A payload that brings the key wins over the template, as it does over any value of the workload.
    asked = tuple((key, computed(otherwise(path(SCOPE, key), path("outcome", "result", key)), span)) for key in found)
    args = Value(MapTemplate(tuple((key, value.template) for key, value in found.items())), span, None)
    first = noop("", span, (Rule(None, "continue", span, set_ctx=asked),))._replace(args=args)
    workload = tuple((key, value) for key, value in playbook.workload if key not in found)
    spans = tuple((key, at) for key, at in playbook.workload_spans if key not in found)
    playbook = playbook._replace(workload=workload, workload_spans=spans)

    def follow(expr: Expr) -> Expr | None:
        here = static_path(expr)
        return path("ctx", here[1]) if len(here) == 2 and here[0] == SCOPE and here[1] in found else None

    return entered(followed(playbook, follow), "blocks", first, span)


def _reader_of(playbook: Playbook, key: str) -> str:
    """Who reads a value of the workload where `ctx` cannot be read in its stead, or ""."""
    reads = {f"{SCOPE}.{key}", f"{SCOPE}['{key}']", f'{SCOPE}["{key}"]'}
    for value in all_values(playbook):
        if any(read in block.text for block in blocks_in(value) for read in reads):
            return "another block template reads it: build the text in a task, and read the task's result"
    # These are evaluated before any step, so that `ctx` is empty for them. Reading it would give null in place of the
    # text, and the run would go on.
    early = [value for other, value in playbook.workload if other != key]
    early += [value for entry in playbook.keychain for _, value in entry.fields]
    early += [value for _, value in playbook.executor.knobs]
    asked = (expr for value in early for expr, _ in expressions_in(value))
    if any(access.root.name == key or access.keys[:1] == (key,) for expr in asked for access in accesses(expr)):
        return "what is rendered before the first step reads it: write one expression, as in `{{ a if x else b }}`"
    return ""


# Args of arcs


def _of_arcs(step: Step, record: RecordChange) -> Step:
    if step.router is None:
        return step
    found: Blocks = {}
    arcs = []
    for arc in step.router.arcs:
        blocks = [] if arc.args is None else list(blocks_in(arc.args))
        if arc.args is None or not blocks:
            arcs.append(arc)
            continue
        words = frozenset[str]().union(*(words_in(block) for block in blocks))
        why = _obstacle(step, arc, words)
        if why:
            record(Change(BY, arc.args.span, "a block template", "refused", why))
        else:
            record(Change(BY, arc.args.span, "a block template", "exact", "a task that renders it"))
            made = without_blocks(arc.args.template, generated_name(step.name, "block"), found)
            arc = arc._replace(args=Value(made, arc.args.span, None))
        arcs.append(arc)
    if not found:
        return step
    last = rendering(generated_name(step.name, "blocks"), step.router.span, found)
    return step._replace(tasks=(*step.tasks, last), router=step.router._replace(arcs=tuple(arcs)))


def _obstacle(step: Step, arc: Arc, words: frozenset[str]) -> str:
    """Why a task cannot render what the arc asks for, or ""."""
    hidden = sorted(words & (ROOTS | {"event", step.name}))
    if step.loop is not None:
        return "the end of a loop has no task: build the text in the step that is led to"
    if hidden:
        return f"`{hidden[0]}` is not known in the step's tasks: build the text in the step that is led to"
    if any(rule.directive == "break" for task in step.tasks for rule in task.rules):
        return "a run that breaks would not render it: build the text in the step that is led to"
    if arc.when is not None:
        asked = {
            str(access.keys[0]) for access in accesses(arc.when.expr) if access.root.name == "event" and access.keys
        }
        if asked & _FAILURE or on_failed(arc.when.expr) != FALSE:
            return "a run that fails would not render it: build the text in the step that is led to"
    return ""
