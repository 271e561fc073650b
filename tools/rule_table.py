"""A developer's script, never shipped: the table of lint rules, which spares importing their modules.

`tools/gen` writes it to `noetlc/diag/rule_table.py`.
"""

from noetlc.rules import all_rules, row_of

_HEAD = '''"""Every lint rule as `noetlc.rules.RuleRow` has it; written by `tools/gen` from the modules of the rules."""

# fmt: off
TABLE: tuple[tuple[str, str, int, str, bool, tuple[str, ...], tuple[str, ...]], ...] = (
'''


def table() -> str:
    """The text of `noetlc/diag/rule_table.py`."""
    return (
        _HEAD + "".join(f"    {tuple(row_of(slug, rule))!r},\n".replace("'", '"') for slug, rule in all_rules()) + ")\n"
    )
