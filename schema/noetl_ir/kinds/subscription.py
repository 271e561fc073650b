"""subscription: takes messages from a source; compiled, and not run yet."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="subscription",
    summary="Takes messages from a source.",
    fields={
        "source": Field(
            (
                "text",
                "map",
            ),
            doc="Where messages come from.",
        ),
        "operation": Field(("text",), doc="What to do: fetch or ack."),
        "topic": Field(("text",), doc="The topic."),
        "group": Field(("text",), doc="The consumer group."),
        "batch": Field(("integer",), doc="How many messages are taken at once."),
        "timeout_ms": Field(("integer",), doc="How long to wait, in milliseconds."),
        "ack": Field(
            (
                "text",
                "boolean",
            ),
            doc="When a message is acknowledged.",
        ),
        "auth": Field(
            (
                "text",
                "map",
            ),
            doc="The credential to connect with.",
        ),
    },
    result="{messages}",
    available=False,
)
