"""Where the secrets of a request may go: to the origin that a task's first one had in its run, and to no other.

A task that asks for page after page takes the next address from an answer, so whoever answers could have the `auth` of
the first page sent wherever it likes. The first origin is in the log with the start of the attempt that took a secret
along, so another worker that goes on with the run knows it. It may hold a secret itself, and has a marker there.
"""

from noetl.ports import ToolCall

ASKING = "http"
"""The kind whose tasks name an address."""


def origin_of(call: ToolCall) -> str | None:
    """The origin that a request with a secret is for, as it is written; None of any other call, and of no address."""
    if call.kind != ASKING or not (call.holds_secret or call.fields.get("auth") is not None):
        return None
    from urllib.parse import urlsplit  # not at every start

    url = call.fields["url"] if call.fields.get("url") is not None else call.fields.get("endpoint")
    try:
        found = urlsplit(str(url))
    except ValueError:
        return None
    # The part before the last `@` is a user's name, whatever it looks like: `https://good.example@evil.example/` goes
    # to the second.
    host = found.netloc.rpartition("@")[2].lower()
    return f"{found.scheme}://{host}" if found.scheme and host else None
