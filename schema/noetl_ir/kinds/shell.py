"""shell: commands for /bin/sh (LANGUAGE §7)."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="shell",
    summary="Runs shell commands; an exit code other than 0 is an error outcome that keeps the output.",
    fields={
        "command": Field(("text",), text="shell", doc="The command text; several lines are one script."),
        "cmds": Field(("text", "list"), text="shell", doc="Commands that run one after the other until one fails."),
        "cmd": Field(("text",), text="shell", doc="Another name for `command`."),
        "env": Field(("map",), doc="Environment variables beside the worker's own; null removes one."),
        "cwd": Field(("text",), doc="The folder to run in, inside the worker's root; the root when absent."),
        "input": Field(("text",), doc="Text for the standard input; none when absent."),
        "shell": Field(("text",), values=("sh", "bash"), doc="The shell that runs the text; bash where there is one."),
    },
    knobs={
        "memory": Field(
            ("text", "integer"),
            doc="Most address space of each process: bytes or text like 512M; none when absent.",
        ),
        "max_output_bytes": Field(("integer",), doc="How much of each output is kept, in bytes; 8 MiB when absent."),
    },
    one_of=(("command", "cmds", "cmd"),),
    # The signal apart from the code: a shell tells both as one number above 128, and 137 may be either.
    extras={"shell": ("exit_code", "signal")},
    result="{stdout, stderr, exit_code}",
)
