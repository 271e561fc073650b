"""nats: a NATS key-value bucket, object store, subject or stream (DIALECTS §2, LANGUAGE §7)."""

from noetl_ir.kinds import Field, Kind

_OPERATIONS = ("kv_get", "kv_put", "kv_delete", "kv_keys", "object_get", "object_put", "publish", "request")

KIND = Kind(
    name="nats",
    module="nats",
    summary="Uses a NATS key-value bucket or object store, publishes a message, or asks and awaits the answer.",
    fields={
        "operation": Field(("text",), values=_OPERATIONS, required=True, doc="What to do."),
        "bucket": Field(("text",), doc="The bucket; the operations that put make one that is missing."),
        "key": Field(("text",), doc="The key in the bucket; for kv_keys a pattern with * and >, all when absent."),
        "value": Field(("any",), doc="The value to put: text as it is, everything else as JSON."),
        # What two workers change at once is lost for one of them otherwise; 0 makes a key a lock.
        "revision": Field(
            ("integer",),
            doc="For kv_put and kv_delete: only if the key has this revision; 0 for one that was never put.",
        ),
        "subject": Field(("text",), doc="The subject to publish to or to ask."),
        # Named by who wants the message kept: a subject that no stream takes would swallow it without an error.
        "stream": Field(("text",), doc="The stream that must take what is published; none when absent."),
        "data": Field(("any",), doc="The message: text as it is, everything else as JSON."),
        "ttl": Field(("duration",), doc="For kv_put: how long the value is kept; for ever when absent."),
        "url": Field(("text",), doc="The server, as nats://HOST:PORT or tls://; that of `auth` when absent."),
        "auth": Field(
            ("text", "map"),
            doc="A keychain entry or stored credential: nats_url, nats_user and nats_password, or token, or creds.",
        ),
        "credential": Field(("text",), doc="Another name for `auth`."),
    },
    knobs={"max_bytes": Field(("integer",), doc="The largest value that is read, in bytes; 64 MiB when absent.")},
    extras={"nats": ("encoding",)},
    result="by operation: {bucket, key, value, revision}, {bucket, keys}, {subject, stream, sequence} or "
    "{subject, value}; a value is parsed where it is JSON, else text",
)
