"""The first dialects: `type:`, `tool: <kind>`, `call`, `with`, `save`, `when`, `pass`, `end_loop`, `eval`, `pipe`."""

from noetlc.dialects import Dialect
from noetlc.older.dialects import by
from noetlc.reading import document, step, task
from noetlc.reading.reader import Tables

DIALECT = Dialect(
    "v1 dialect",
    Tables(
        document=dict.fromkeys(("description", "desc", "version"), document.take_moved),
        step={
            "call": step.take_call,
            "save": by("sinks", "take_sink"),
            "when": by("skips", "take_when"),
            "pass": by("skips", "take_pass"),
            "end_loop": by("end_loop", "take_end_loop"),
            "with": by("args", "take_step_args"),
            "data": by("args", "take_step_args"),
        },
        task={
            "save": by("sinks", "take_sink"),
            "eval": by("evaluations", "take_eval"),
        },
        task_spec={"eval": by("evaluations", "take_eval")},
        task_fallback={
            **dict.fromkeys(("with", "input", "data", "payload", "params", "parameters"), task.take_carrier),
            "exports": task.idle_in("shell"),
            "task": task.idle_in("playbook"),
        },
        arc={"cond": by("targets", "take_cond"), "condition": by("targets", "take_cond")},
    ),
    legacy={
        "document": ("steps", "tasks", "environment", "context"),
        "step": ("run", "pipe", "eval", "expr", "next_step", "task"),
        "task": ("pipe", "expr", "catch"),
        "rule": ("expr", "do"),
        "case": ("finally",),
        "then": ("set_prev",),
        "arc": ("with", "data", "then", "else", "input"),
    },
)
