"""gcs: reads and writes objects in Google Cloud Storage; compiled, and not run yet."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="gcs",
    summary="Reads and writes objects in Google Cloud Storage.",
    fields={
        "operation": Field(("text",), doc="What to do: upload, download, list or delete."),
        "bucket": Field(("text",), doc="The bucket."),
        "source": Field(("text",), doc="The local path or object to read."),
        "destination": Field(("text",), doc="The object or local path to write."),
        "key": Field(("text",), doc="The object's name."),
        "content_type": Field(("text",), doc="The media type of an upload."),
        "credential": Field(("text",), doc="The credential to use."),
        "auth": Field(
            (
                "text",
                "map",
            ),
            doc="Another name for `credential`.",
        ),
    },
    result="{uri, size}",
    available=False,
)
