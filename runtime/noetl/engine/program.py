"""A plan made ready to run: the net with its consumers by place, and expressions compiled when first asked.

Nothing here decides; it only finds. Transitions are found by their role and tables, as `noetl_ir.net` names them.
"""

from collections.abc import Callable

from noetl_ir import evaluate
from noetl_ir.expr import Json, Literal, MapTemplate, Native, Template
from noetl_ir.net import Net, PlaceClass, Transition, Trigger
from noetl_ir.plan import Plan


class Missing(Exception):
    """The net has no such transition: the plan and the event do not belong together."""


_BY_PHASE = frozenset({"fault", "stop", "expire"})
_BY_TARGET = frozenset({"jump", "jump_later"})


def _key_of(net: Net, transition: Transition) -> tuple[str, int, int, int, str, int]:
    """How a transition is found: `fault stop expire` by the phase they leave too, jumps by the task they lead to."""
    role, outcome, target, level = transition.role, transition.outcome, -1, transition.level
    if role in _BY_PHASE:
        role, outcome, level = f"{role}_{net.places[transition.inputs[0].place].role}", "", -1
    elif role in _BY_TARGET:
        target = net.places[transition.outputs[0].place].task
    if transition.task >= 0:
        level = -1
    return (role, transition.step, transition.task, level, outcome, target)


def _entrances(net: Net, transition: Transition) -> list[int]:
    return [arc.place for arc in transition.inputs if net.places[arc.place].role in ("in", "dead")]


class Program:
    """A plan with its indices. Shared by all executions of the plan; compiled templates are the only thing that grows.

    `data` are the plan's bytes; `blocks` renders block templates, on a worker.
    """

    __slots__ = (
        "_blocks",
        "_by_role",
        "_entrances",
        "_guards",
        "_landings",
        "_templates",
        "bytes",
        "choices",
        "controls",
        "counting",
        "digest",
        "plan",
        "step_numbers",
    )

    def __init__(self, plan: Plan, digest: str, data: bytes = b"", blocks: evaluate.Blocks | None = None) -> None:
        self.plan = plan
        self.bytes = data
        self._blocks = blocks
        self.digest = digest
        self._templates: dict[int, Callable[[evaluate.Scope], Json]] = {}
        self._guards: dict[int, Callable[[evaluate.Scope], bool]] = {}
        self.step_numbers = {step.name: number for number, step in enumerate(plan.steps)}
        net = plan.net
        self.controls = bytes(place.kind is PlaceClass.CONTROL for place in net.places)
        self.choices: list[tuple[int, ...]] = [()] * len(net.places)
        self._by_role: dict[tuple[str, int, int, int, str, int], int] = {}
        self._landings: dict[int, int] = {}
        self._entrances: dict[int, list[int]] = {}
        self.counting: list[int] = []
        for number, transition in enumerate(net.transitions):
            if transition.trigger in (Trigger.NOW, Trigger.CTX):
                for arc in transition.inputs:
                    self.choices[arc.place] += (number,)
            self._by_role.setdefault(_key_of(net, transition), number)
            if transition.role == "land":
                self._landings[transition.arc] = number
            elif transition.role in ("enter", "meet", "arrive", "arrive_dead"):
                known = self._entrances.setdefault(transition.step, [])
                known.extend(place for place in _entrances(net, transition) if place not in known)
            elif transition.role == "rearm":
                self.counting.append(transition.step)

    def transition(
        self, role: str, step: int, task: int = -1, *, level: int = -1, outcome: str = "", target: int = -1
    ) -> int:
        """The index of the transition with this role; raises Missing."""
        found = self._by_role.get((role, step, task, level, outcome, target))
        if found is None:
            name = self.plan.steps[step].name if 0 <= step < len(self.plan.steps) else "?"
            raise Missing(f"the net has no `{role} {outcome}` of step `{name}`, task {task}, level {level}")
        return found

    def find(self, role: str, step: int) -> int:
        """The index of a step's transition with this role, -1 when it has none."""
        return self._by_role.get((role, step, -1, -1, "", -1), -1)

    def idle_place(self, step: int) -> int:
        """The place that says a counting join is waiting for its wave, -1 for other joins."""
        if step not in self.counting:
            return -1
        return self.plan.net.transitions[self.transition("meet", step)].inputs[1].place

    def landing(self, arc: int) -> int:
        """The transition that lands the delayed token of an arc."""
        return self._landings[arc]

    def entrances(self, step: int) -> list[int]:
        """The places where tokens reach a step, in file order of their sources."""
        return self._entrances.get(step, [])

    def iterators(self, step: int, levels: int) -> tuple[str, ...]:
        """The iterators of a step's outer `levels` loops, innermost first."""
        return tuple(loop.iterator for loop in reversed(self.plan.steps[step].loops[:levels]))

    def gives_result(self, task: int) -> bool:
        """Whether a task is a noop with `result`: a generated one replaces the step's result (LANGUAGE §2)."""
        row = self.plan.tasks[task]
        fields = self.plan.templates[row.fields] if row.kind == "noop" and row.fields >= 0 else None
        if isinstance(fields, MapTemplate):
            return any(name == "result" for name, _ in fields.items)
        return isinstance(fields, Literal) and isinstance(fields.value, dict) and "result" in fields.value

    def value(self, index: int) -> Callable[[evaluate.Scope], Json]:
        """The compiled template at a pool index."""
        compiled = self._templates.get(index)
        if compiled is None:
            compiled = self._templates[index] = evaluate.compile_template(self.plan.templates[index], self._blocks)
        return compiled

    def part(self, template: Template) -> Callable[[evaluate.Scope], Json]:
        """The compiled form of a part of a template of the pool."""
        return evaluate.compile_template(template)

    def text(self, index: int) -> str:
        """A template of the pool as the author wrote it."""
        return getattr(self.plan.templates[index], "text", "")

    def guard(self, index: int) -> Callable[[evaluate.Scope], bool]:
        """The compiled guard at a pool index."""
        compiled = self._guards.get(index)
        if compiled is None:
            template = self.plan.templates[index]
            if not isinstance(template, Native):
                raise Missing(f"template {index} is no guard")
            compiled = self._guards[index] = evaluate.compile_guard(template.expr)
        return compiled
