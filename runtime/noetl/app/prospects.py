"""The prospects of an execution: which steps may still run, and which no longer can whatever happens.

A step may run where its first transition can fire in the net that takes no tokens away (the delete relaxation of
planning, J. Hoffmann and B. Nebel, The FF Planning System, JAIR 14, 2001, §3): guards are let through, and a token
that is there once stays. What cannot happen there cannot happen in the net.
"""

from __future__ import annotations

from collections import defaultdict

from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl_ir.words import MAIN


def steps_to_come(program: Program, execution: Execution) -> list[str]:
    """The names of the steps that may begin from here on, in the order of the plan; none of one that is over."""
    plan = program.plan
    if execution.is_over:
        return []
    readers: dict[int, list[int]] = defaultdict(list)
    lacking: list[int] = []
    for number, transition in enumerate(plan.net.transitions):
        places = {arc.place for arc in transition.inputs}
        lacking.append(len(places))
        for place in places:
            readers[place].append(number)
    waiting = [place for place, keys in execution.marking.tokens.items() if keys]
    seen = set(waiting)
    steps: set[int] = set()
    while waiting:
        for number in readers[waiting.pop()]:
            lacking[number] -= 1
            if lacking[number]:
                continue
            transition = plan.net.transitions[number]
            if transition.role == "begin":
                steps.add(transition.step)
            for arc in transition.outputs:
                if arc.place not in seen:
                    seen.add(arc.place)
                    waiting.append(arc.place)
    if execution.phase == MAIN and (plan.phases or plan.compensations):
        # Steps of later phases, and those that undo, begin by themselves once main has ended.
        return [step.name for step in plan.steps]
    return [step.name for number, step in enumerate(plan.steps) if number in steps]
