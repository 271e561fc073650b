"""Keys of numbers for sets and mappings in which equal JSON is one: 1 and 1.0 are, and so are long numbers."""

EASY_BITS = 60
"""Bits of the whole numbers that Python hashes as they are: each of them has a hash of its own."""


def number_key(value: float) -> float | str:
    """A key that equal numbers share, and that no text of JSON in the same set may be: callers tag those."""
    # A float without a fraction is the whole number that it equals, or 2**70 and 2.0**70 would be two.
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    # Python hashes whole numbers modulo 2**61 - 1. Long ones may be made so that all have one hash, and a set of them
    # is slow beyond use.
    return hex(whole) if isinstance(whole, int) and whole.bit_length() > EASY_BITS else whole
