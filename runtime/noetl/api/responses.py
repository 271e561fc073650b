"""Responses in JSON of any text there is: Python and JSON know halves of surrogate pairs, UTF-8 does not."""

import json

from starlette import responses


class JSONResponse(responses.JSONResponse):
    """A JSON body as bytes; text that UTF-8 cannot carry is written in escapes (RFC 8259 §7)."""

    def render(self, content: object) -> bytes:
        """The body."""
        try:
            # UTF-8 is shorter and readable, so it is tried first. Half a surrogate pair, as a tool may have read it
            # out of JSON, is rare and must not make a response a 500.
            return super().render(content)
        except UnicodeEncodeError:
            return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")
