"""How much a single expression may make: a playbook cannot exhaust the memory of the server that evaluates it."""

from noetl_ir.scopes.values import Fault

MAX_CHARS = 10_000_000
"""Code points in a text that an expression makes. Data may be longer; it is only passed on."""
MAX_ITEMS = 1_000_000
"""Entries in a list that an expression makes, and values in all of what leaves an expression."""
MAX_PARTS = 10_000_000
"""Values in what a mapping or list of templates makes; data that one template passes on alone may have more."""
MAX_RANGE = 100_000
"""Numbers in a `range`, as in Jinja2's sandbox."""
MAX_BITS = 14_000
"""Bits of an integer: what Python still turns into decimal digits."""
MAX_LEVELS = 200
"""Levels of nesting in a value that leaves an expression or a mapping or list of templates."""


def check_chars(count: object) -> None:
    """Raises Fault when a text of that many code points would be too long; what is no count is left to its user."""
    # Counts may come from a template (`'a' * n`): of what is no number the operator itself complains, in its own words.
    if isinstance(count, int) and count > MAX_CHARS:
        raise Fault("template.error", f"the text would have more than {MAX_CHARS:,} characters")


def check_items(count: object) -> None:
    """Raises Fault when a list of that many entries would be too long; what is no count is left to its user."""
    if isinstance(count, int) and count > MAX_ITEMS:
        raise Fault("template.error", f"the list would have more than {MAX_ITEMS:,} entries")


def check_bits(count: int) -> None:
    """Raises Fault when an integer of that many bits would be too large."""
    if count > MAX_BITS:
        raise Fault("template.error", "the number would have too many digits")
