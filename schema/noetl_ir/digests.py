"""SHA-256 without OpenSSL, which takes 2 ms to load: a twentieth of what a small command takes as a whole."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

_LARGE = 1 << 20
"""Bytes from which OpenSSL is worth its loading."""


def sha256(size: int = 0) -> "Hash":
    """A digest to `update`; of OpenSSL where that is loaded, or where about `size` bytes will be many."""
    if "hashlib" not in sys.modules and size < _LARGE:
        try:
            # Python's own modules for it changed their name with 3.12.
            if sys.version_info >= (3, 12):
                from _sha2 import sha256 as own
            else:
                from _sha256 import sha256 as own  # type: ignore[import-not-found, unused-ignore]
        except ImportError:  # another Python
            pass
        else:
            made: Hash = own()
            return made
    from hashlib import sha256 as shared

    return shared()
