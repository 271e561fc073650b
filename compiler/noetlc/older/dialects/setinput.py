"""The dialect of `set`, `input`, `output` and `loop.cursor`, newer than any specification (D10, D11)."""

from noetlc.dialects import Dialect
from noetlc.older import read_cursor, read_state
from noetlc.reading.reader import Tables, no_effect

_DIALECT = "set/input dialect"

DIALECT = Dialect(
    _DIALECT,
    Tables(
        step={"set": read_state.take_step_set, "input": read_state.take_step_args, "output": no_effect},
        task={"set": read_state.take_set, "output": no_effect, "output_select": no_effect},
        then={"set": read_state.take_rule_set},
        arc={"set": read_state.take_arc_set},
        loop={"cursor": read_cursor.take_cursor},
        loop_spec={"frame": read_cursor.take_frame},
    ),
)
