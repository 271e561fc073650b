"""agent: calls an agent written with another framework; compiled, and not run yet."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="agent",
    summary="Calls an agent written with another framework.",
    fields={
        "framework": Field(("text",), doc="The framework that the agent is written with."),
        "entrypoint": Field(("text",), doc="The module and name of the agent."),
        "payload": Field(("map",), doc="What the agent is given."),
        "on_failure": Field(("any",), doc="What follows a failure."),
        "auth": Field(
            (
                "text",
                "map",
            ),
            doc="Credentials of the agent.",
        ),
    },
    result="what the agent gives",
    available=False,
)
