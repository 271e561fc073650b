"""artifact: stored results of its own execution, and values in files and buckets."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="artifact",
    summary="Reads a stored result by its reference, or a value from an address, or writes a value to one.",
    fields={
        "action": Field(("text",), values=("get", "put"), doc="What to do; get when absent."),
        "result_ref": Field(
            ("any",),
            doc="For get: the reference of a result of the same execution, as `ref(step)` gives it; also in args.",
        ),
        "uri": Field(
            ("text",),
            doc="The address: a file inside the worker's root (a path, file:// or artifact://) or gs://BUCKET/NAME; "
            "also in args.",
        ),
        "data": Field(("any",), doc="For put: what to write; text as it is, else as JSON; also in args."),
        "compress": Field(
            ("boolean",),
            doc="For put: whether to write it with gzip, with .gz at the name's end; as that end says when absent.",
        ),
        "content_type": Field(("text",), doc="For put to a bucket: the media type; by the name's ending when absent."),
        "key": Field(("any",), doc="Read from older playbooks.", idle=True),
        "endpoint": Field(("text",), doc="The server of a bucket, as for gcs."),
        "credential": Field(("text",), doc="Another name for `auth`."),
        "auth": Field(("text", "map"), doc="The keychain entry or stored credential of a bucket, as for gcs."),
    },
    # What is stored cannot change, so a reference may be read again at will.
    pure=True,
    reaching=("uri",),
    knobs={"max_bytes": Field(("integer",), doc="The most bytes of a value that is read; 64 MiB when absent.")},
    only_one=(("result_ref", "uri"),),
    extras={"http": ("status",)},
    result="for get {data}, and each key of a mapping; `data` is always the whole; from an address "
    "{uri, size_bytes, compressed} too; for put {uri, size_bytes, sha256, compressed}",
)
