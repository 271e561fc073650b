"""nats: uses a NATS key-value bucket, object store or stream; compiled, and not run yet."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="nats",
    summary="Uses a NATS key-value bucket, object store or stream.",
    fields={
        "operation": Field(
            ("text",), doc="What to do: kv_get, kv_put, kv_delete, kv_keys, object_get, object_put, publish."
        ),
        "bucket": Field(("text",), doc="The bucket."),
        "key": Field(("text",), doc="The key in the bucket."),
        "value": Field(("any",), doc="The value to write."),
        "subject": Field(("text",), doc="The subject to publish to."),
        "stream": Field(("text",), doc="The stream."),
        "data": Field(("any",), doc="The message to publish."),
        "ttl": Field(("duration",), doc="How long the value is kept."),
        "url": Field(("text",), doc="The server's address."),
        "auth": Field(
            (
                "text",
                "map",
            ),
            doc="The credential to connect with.",
        ),
    },
    result="{status, key, value, revision}",
    available=False,
)
