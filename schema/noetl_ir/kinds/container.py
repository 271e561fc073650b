"""container: runs a container image as a job; compiled, and not run yet."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="container",
    summary="Runs a container image as a job.",
    fields={
        "image": Field(("text",), required=True, doc="The image to run."),
        "command": Field(
            (
                "text",
                "list",
            ),
            text="shell",
            doc="The command to run in the container.",
        ),
        "arguments": Field(("list",), doc="Words given to the command."),
        "env": Field(("map",), doc="Environment variables."),
        "resources": Field(("map",), doc="Requests and limits of processor and memory."),
        "namespace": Field(("text",), doc="The cluster namespace to run in."),
        "timeout_seconds": Field(("number",), doc="How long the job may take, in seconds."),
        "backoff_limit": Field(("integer",), doc="How often the cluster itself tries again."),
        "restart_policy": Field(("text",), doc="The pod's restart policy."),
        "runtime": Field(("map",), doc="Where and how the container runs."),
        "script": Field(
            (
                "text",
                "map",
            ),
            doc="A script to put into the container.",
        ),
        "credential": Field(("text",), doc="The credential of the cluster."),
        "auth": Field(
            (
                "text",
                "map",
            ),
            doc="Another name for `credential`.",
        ),
    },
    result="{exit_code, logs}",
    available=False,
)
