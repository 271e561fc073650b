"""The first dialects: `type:`, `tool: <kind>`, `call`, `with`, `save`, `when`, `pass`, `end_loop`, `eval`, `pipe`."""

from noetlc.dialects import Dialect
from noetlc.older.dialects import by
from noetlc.reading import document, step, task
from noetlc.reading.reader import Tables, no_effect

_DIALECT = "v1 dialect"


def _named(*keys: str) -> dict[str, str]:
    return {key: f"`{key}` ({_DIALECT})" for key in keys}


DIALECT = Dialect(
    _DIALECT,
    Tables(
        document=dict.fromkeys(("description", "desc", "version"), document.take_moved),
        step={
            "call": step.take_call,
            "save": by("sinks", "take_sink"),
            "when": by("skips", "take_when"),
            "pass": by("skips", "take_pass"),
            "end_loop": by("end_loop", "take_end_loop"),
            "assert": no_effect,
            "with": by("args", "take_step_args"),
            "data": by("args", "take_step_args"),
        },
        task={"save": by("sinks", "take_sink"), "eval": by("evaluations", "take_eval"), "assert": no_effect},
        task_spec={"eval": by("evaluations", "take_eval")},
        task_fallback={
            **dict.fromkeys(("with", "input", "data", "payload", "params", "parameters"), task.take_carrier),
            "exports": task.idle_in("shell"),
            "task": task.idle_in("playbook"),
        },
        arc={"cond": by("targets", "take_cond"), "condition": by("targets", "take_cond")},
    ),
    legacy={
        "document": _named("steps", "tasks", "environment", "context"),
        "step": _named("run", "pipe", "eval", "expr", "next_step", "task"),
        "task": _named("pipe", "expr", "catch"),
        "rule": _named("expr", "do"),
        "arc": _named("with", "data", "then", "else", "input"),
    },
)
