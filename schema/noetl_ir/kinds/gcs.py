"""gcs: objects in Google Cloud Storage (DIALECTS §2, LANGUAGE §7)."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="gcs",
    summary="Reads, writes, lists and deletes objects in Google Cloud Storage.",
    fields={
        "operation": Field(
            ("text",), values=("upload", "download", "list", "delete"), required=True, doc="What to do."
        ),
        "bucket": Field(("text",), doc="The bucket; not needed where an object is written gs://BUCKET/NAME."),
        "key": Field(("text",), doc="The object's name; for list, what names begin with."),
        "source": Field(("text",), doc="For upload a file inside the worker's root, for download the object."),
        "destination": Field(("text",), doc="For upload the object, for download a file inside the worker's root."),
        "data": Field(("any",), doc="For upload: what to write instead of a file; text as it is, else as JSON."),
        "content_type": Field(("text",), doc="The media type of an upload; by the name's ending when absent."),
        # Google's own libraries read that variable too, so an emulator is found without a change of playbooks.
        "endpoint": Field(
            ("text",), doc="The server; STORAGE_EMULATOR_HOST, else https://storage.googleapis.com when absent."
        ),
        "credential": Field(("text",), doc="Another name for `auth`."),
        "auth": Field(
            ("text", "map"),
            doc="A keychain entry or stored credential: a service account, or a token; no login when absent.",
        ),
    },
    knobs={
        "max_bytes": Field(("integer",), doc="The largest object that is read, in bytes; 64 MiB when absent."),
        # A list goes into the log as one result; a bucket may have millions of objects.
        "max_objects": Field(("integer",), doc="The most objects that a list may have; 10,000 when absent."),
    },
    extras={"http": ("status",)},
    result="{uri, size}, with {content_type, data} for a download without a destination; {objects: [{name, size, "
    "content_type, updated}]} for a list; {uri} for a deletion",
)
