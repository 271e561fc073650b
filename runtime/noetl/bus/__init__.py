"""The buses: how the server and the workers reach each other, one adapter a module.

A module with `open_bus(url, limits, pool)` is a `Bus`; `names` in `noetl_ir.registry` finds it.
"""


class BusFailure(Exception):
    """A bus that cannot be opened; the text says why, in plain words and without secrets."""
