"""Starts that happen once: a key that whoever asks has chosen, and what it was asked with.

The same key with the same request is one start, however often and of whom it is asked; with another request it is a
mistake (the Idempotency-Key header, draft-ietf-httpapi-idempotency-key-header). A key is kept as long as its execution.
"""

from collections.abc import Mapping

from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

KEY = "Idempotency-Key"
LONGEST = 255


class StartKey(NamedTuple):
    """The key that makes a start happen once: a `key` that its caller chose, and a hash of what it asked for with
    it.
    """

    key: str
    request: str


class BadKey(ValueError):
    """A text that is no key; the exception says what one is."""


def start_key(key: str, asked: Mapping[str, Json]) -> StartKey:
    """The key of a start, with the hash of what is asked for. Raises BadKey."""
    # The header is a quoted string to the draft, and a bare word to most clients: both name one key.
    name = key[1:-1] if len(key) > 1 and key[0] == key[-1] == '"' else key
    if not (0 < len(name) <= LONGEST and name.isascii() and name.isprintable()):
        raise BadKey(f"such a key is 1 to {LONGEST} printable ASCII characters")
    import json
    from hashlib import sha256

    # The hash and not the request: a payload may be large, and hold what is in no log yet. Sorted, as the order of
    # keys means nothing.
    return StartKey(name, sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest())


def other(key: StartKey, execution_id: str) -> str:
    """The message where a key was used for another start."""
    sent = key.key.rpartition("\0")[2]  # without whose key it is
    return f"nothing was started: the key `{sent}` started execution {execution_id}, with another playbook or payload"
