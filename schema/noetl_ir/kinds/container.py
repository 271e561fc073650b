"""container: a container image, run to its end by the OCI engine of the worker's machine (LANGUAGE §7)."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="container",
    summary="Runs a container image; an exit code other than 0 is an error outcome that keeps the output.",
    fields={
        "image": Field(("text",), required=True, doc="The image to run."),
        "command": Field(
            ("text", "list"),
            text="shell",
            doc="What to run in the container: a text for its /bin/sh, or words; what the image says when absent.",
        ),
        "arguments": Field(("list",), doc="Words given to the command."),
        # By the standard input and not by a mount: an engine elsewhere does not see the worker's files.
        "script": Field(
            ("text", "map"),
            doc="A script: a path, {uri, source: {type: file}} or {source: {type: inline, code}}. Its text is the "
            "standard input of `command`, of /bin/sh when that is absent.",
        ),
        "env": Field(("map",), doc="Environment variables of the container, each of one line; null leaves one out."),
        "resources": Field(
            ("map",),
            doc="Most processor and memory: {cpu, memory}, or {limits, requests} with these; cpu is 2 or 500m.",
        ),
        "runtime": Field(
            ("map",),
            doc="{engine: podman, docker or nerdctl; network: none or bridge; pull: missing, always or never}.",
        ),
        "timeout_seconds": Field(("number",), doc="Another way to say `spec.timeout`, in seconds."),
        # A cluster read these. The engine of one machine has none of it, so each is told as idle.
        "namespace": Field(("text",), doc="Read from older playbooks, where a cluster ran the container.", idle=True),
        "backoff_limit": Field(("integer",), doc="Read from older playbooks: use a retry rule.", idle=True),
        "restart_policy": Field(("text",), doc="Read from older playbooks, as `namespace`.", idle=True),
        "credential": Field(("text",), doc="Read from older playbooks, as `namespace`.", idle=True),
        "auth": Field(("text", "map"), doc="Read from older playbooks, as `namespace`.", idle=True),
        "service_account": Field(("text",), doc="Read from older playbooks, as `namespace`.", idle=True),
    },
    knobs={
        "max_output_bytes": Field(("integer",), doc="How much of each output is kept, in bytes; 8 MiB when absent.")
    },
    extras={"container": ("engine", "exit_code")},
    result="{stdout, stderr, exit_code}",
)
