"""The first dialects: `type:`, `tool: <kind>`, `call`, `with`, `save`, `when`, `pass`, `end_loop`, `eval`, `pipe`."""

from noetlc.dialects import Dialect
from noetlc.older import read_evaluations, read_loop, read_sink, read_skip, read_targets
from noetlc.reading import step, task
from noetlc.reading.reader import Tables, no_effect

_DIALECT = "v1 dialect"


def _named(*keys: str) -> dict[str, str]:
    return {key: f"`{key}` ({_DIALECT})" for key in keys}


DIALECT = Dialect(
    _DIALECT,
    Tables(
        step={
            "call": step.take_call,
            "save": read_sink.take_sink,
            "when": read_skip.take_when,
            "pass": read_skip.take_pass,
            "end_loop": read_loop.take_end_loop,
            "assert": no_effect,
        },
        task={"save": read_sink.take_sink, "eval": read_evaluations.take_eval},
        task_spec={"eval": read_evaluations.take_eval},
        task_fallback={
            **dict.fromkeys(("with", "input", "data", "payload", "params", "parameters"), task.take_carrier),
            "exports": task.idle_in("shell"),
            "task": task.idle_in("playbook"),
        },
        arc={"cond": read_targets.take_cond, "condition": read_targets.take_cond},
    ),
    legacy={
        "document": _named("steps", "tasks", "environment", "context"),
        "step": _named("run", "with", "data", "pipe", "eval", "expr", "next_step", "task"),
        "task": _named("pipe", "expr", "catch"),
        "rule": _named("expr", "do"),
        "arc": _named("with", "data", "then", "else", "input"),
    },
)
