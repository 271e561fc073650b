"""The generated tables of the grammar are those that lark makes of it today."""

from noetlc.expr import tables
from noetlc.expr.parser import generated_tables


def test_the_tables_are_up_to_date() -> None:
    space: dict[str, str] = {}
    exec(generated_tables(), space)
    for name in ("TERMINALS", "PRODUCTIONS", "STATES"):
        assert getattr(tables, name) == space[name], "run tools/gen"
