"""The dialect of `set`, `input`, `output` and `loop.cursor`, newer than any specification (D10, D11)."""

from noetlc.dialects import Dialect
from noetlc.reading import cursor, state
from noetlc.reading.reader import Tables, no_effect

_DIALECT = "set/input dialect"

DIALECT = Dialect(
    _DIALECT,
    Tables(
        step={"set": state.take_step_set, "input": state.take_step_args, "output": no_effect},
        task={"set": state.take_set, "output": no_effect, "output_select": no_effect},
        then={"set": state.take_rule_set},
        arc={"set": state.take_arc_set},
        loop={"cursor": cursor.take_cursor},
        loop_spec={"frame": cursor.take_frame},
    ),
)
