"""The dialect of `set`, `input`, `output` and `loop.cursor`, newer than any specification (D10, D11)."""

from noetlc.dialects import Dialect
from noetlc.older.dialects import by
from noetlc.reading.reader import Tables

DIALECT = Dialect(
    "set/input dialect",
    Tables(
        step={
            "set": by("variables", "take_step_set"),
            "input": by("args", "take_step_args"),
            "output": by("storage", "take_output"),
        },
        task={
            "set": by("variables", "take_set"),
            "output": by("storage", "take_output"),
            "output_select": by("storage", "take_select"),
        },
        then={"set": by("variables", "take_rule_set"), "set_vars": by("variables", "take_rule_set")},
        arc={"set": by("variables", "take_arc_set")},
        loop={"cursor": by("cursors", "take_cursor")},
        loop_spec={"frame": by("cursors", "take_frame")},
    ),
)
