"""name_task_results: results of tasks that are read under the name of their step.

    tool: [{name: fetch, …}, {name: check, kind: python, args: {page: "{{ load.fetch }}"}}]    of a step `load`
        →  args: {page: "{{ fetch }}"}
    when: "{{ load.results.check.more }}"   →   when: "{{ load.more }}"

    set_ctx: {n: "{{ count.n }}"}   in the policy of the last task of `count`   →   n: "{{ outcome.result.n }}"

The engines kept what every task gave; here a step's result is that of its last task (LANGUAGE §2). What another step
reads of an earlier task is not there, and a comparison with it would be quietly false: it is refused. What a policy
sets of its step is what the tool has just given, as in `vars`; beside `outcome` the name is that of an earlier run.
"""

from noetl_ir.expr import Attribute, Expr, Item, Name, walk
from noetl_ir.paths import static_path
from noetl_ir.span import Span
from noetlc.ast.bodies import all_taken
from noetlc.ast.playbook import Pairs, Playbook, Step, Task, Value
from noetlc.ast.sugar import Guess
from noetlc.ast.walk import expressions_in
from noetlc.diag.change import Change, ChangeClass, RecordChange
from noetlc.expr.templates import Templated, map_all_templated, map_templated, templated_with, value_with
from noetlc.older.legacy_names import own_meanings, renamed
from noetlc.older.nearer import Nearer


class TaskResults(Guess):
    """Some expression of the file may read what a task gave under the name of its step."""

    span: Span


BY = "name_task_results"


def name_task_results(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which what tasks gave has its name."""
    asked, playbook = all_taken(playbook, TaskResults)
    if not asked:
        return playbook
    nearer = Nearer(playbook)
    of_steps = {
        step.name: tuple([task.name for task in step.tasks if not task.generated])
        for step in playbook.steps
        if step.loop is None
    }

    def named(step: Step) -> Step:
        hidden = nearer.within(step)
        tasks = {name: found for name, found in of_steps.items() if name not in hidden}
        own = tuple([_in_task(task, step.name, tasks, record) for task in step.tasks])
        if step.name in tasks:
            own = (*own[:-1], _setting(own[-1], step.name, record))
        step = step._replace(tasks=own)
        return map_all_templated(step, lambda templated: _with_results(templated, "", tasks, record))

    steps = tuple([made if (made := named(step)) != step else step for step in playbook.steps])
    shown = {name: found for name, found in of_steps.items() if name not in nearer.everywhere}
    executor = map_templated(playbook.executor, lambda templated: _with_results(templated, "", shown, record))
    return playbook._replace(executor=executor, steps=steps)


_OF_THE_TOOL = frozenset({"outcome", "output", "_prev", "result", "response", "this", "data"})


def _setting(task: Task, step: str, record: RecordChange) -> Task:
    """The last task of a step, whose policy sets what it gave."""
    names = renamed(own_meanings(step), ())

    def replace(value: Value) -> Value:
        roots = {part.name for expr, _ in expressions_in(value) for part in walk(expr) if isinstance(part, Name)}
        if step not in roots or roots & _OF_THE_TOOL:
            return value
        record(Change(BY, value.span, "the step in its own policy", "review", "`outcome.result`: what it gives now"))
        return value_with(value, names)

    def pairs(found: Pairs) -> Pairs:
        return tuple([(name, replace(value)) for name, value in found])

    rules = [rule._replace(set_ctx=pairs(rule.set_ctx), set_iter=pairs(rule.set_iter)) for rule in task.rules]
    return task._replace(rules=tuple(rules))


def _in_task(task: Task, step: str, tasks: dict[str, tuple[str, ...]], record: RecordChange) -> Task:
    """A task of a step: what stands before and behind it in the list has its own name."""
    return map_templated(task, lambda templated: _with_results(templated, step, tasks, record))


def _with_results(
    templated: Templated, step: str, tasks: dict[str, tuple[str, ...]], record: RecordChange
) -> Templated:
    found: list[tuple[str, ChangeClass]] = []

    def replace(expr: Expr) -> Expr | None:
        here = static_path(expr) if isinstance(expr, Attribute | Item) else ()
        listed = tasks.get(here[0], ()) if here else ()
        if len(here) == 3 and here[1] == "results" and here[2] in listed:
            name = here[2]
        elif len(here) == 2 and here[0] == step and len(listed) > 1 and here[1] in listed:
            name = here[1]
        else:
            return None
        if here[0] == step:
            found.append((f"`{name}`", "review"))
            return Name(name)
        if name != listed[-1]:
            why = (
                f"the result of `{here[0]}` is that of its last task, `{listed[-1]}`: give what is needed by `set_ctx`"
            )
            found.append((why, "refused"))
            return None
        found.append((f"`{here[0]}`", "review"))
        return Name(here[0])

    made = templated_with(templated, replace)
    for said, of in found:
        record(Change(BY, templated.span, "the result of a task under its step", of, said))
    return made
