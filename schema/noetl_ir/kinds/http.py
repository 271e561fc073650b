"""http: one HTTP request (formal §5, v10 §12, LANGUAGE §7)."""

from noetl_ir.kinds import Field, Kind

_TIMEOUT = "Seconds for the whole request, or {connect, read} for its parts; 30 s when nothing is set."

KIND = Kind(
    name="http",
    summary="Sends one HTTP request; a status of 400 or more is an error outcome that keeps the answer.",
    fields={
        "method": Field(
            ("text",),
            values=("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"),
            # Playbooks write `get` and `GET` alike.
            any_case=True,
            doc="The request method in any case; GET when absent.",
        ),
        "url": Field(("text",), doc="The address to ask, with its scheme (http or https)."),
        "endpoint": Field(("text",), doc="Another name for `url`."),
        "headers": Field(("map",), doc="Request headers; a value of null leaves the header out."),
        "params": Field(("map", "list"), doc="Query parameters; a list repeats a name, null leaves it out."),
        "json": Field(("any",), doc="A value sent as a JSON body."),
        "body": Field(
            ("any",),
            doc="The body: text is sent as it is, a mapping as JSON, or as a form if the header Content-Type says so.",
        ),
        "payload": Field(("any",), doc="Another name for `body`."),
        "data": Field(
            ("any",),
            doc="The body, as `body`; of GET, HEAD and DELETE a mapping goes into the query. `{query: …, body: …}` "
            "names what goes where.",
        ),
        "form": Field(("map",), doc="A form to send (application/x-www-form-urlencoded)."),
        "auth": Field(("text", "map"), doc="A keychain entry: a token goes out as Bearer, user and password as Basic."),
        "timeout": Field(("duration", "map"), doc=_TIMEOUT),
        "timeout_seconds": Field(("number",), doc="Another name for `timeout`."),
        "verify_ssl": Field(("boolean",), doc="Whether the server's certificate is checked; true when absent."),
        "follow_redirects": Field(("boolean",), doc="Whether redirects are followed; false when absent."),
    },
    knobs={
        "max_response_bytes": Field(("integer",), doc="The largest answer that is read, in bytes; 64 MiB when absent."),
        # As knobs, too, so that a step or the executor can say them once for all requests inside.
        "verify_ssl": Field(("boolean",), doc="Default of the field of this name."),
        "follow_redirects": Field(("boolean",), doc="Default of the field of this name."),
    },
    # Exactly one address, and at most one body: which of two counts would be a guess.
    one_of=(("url", "endpoint"),),
    only_one=(("json", "body", "payload", "data", "form"),),
    extras={"http": ("status", "headers", "retry_after")},
    result="{status_code, headers, data, body, url, elapsed}; `data` and `body` are the same value: parsed JSON, else "
    "text; `url` is that of the answer, `elapsed` seconds",
)
