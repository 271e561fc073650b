"""script: a program file inside the worker's root, run by its interpreter (LANGUAGE §7)."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="script",
    summary="Runs a script file; only these keys ever open a file: inside the worker's root, or with the playbook.",
    fields={
        "file": Field(("text",), doc="The script's path inside the worker's root."),
        "path": Field(("text",), doc="Another name for `file`."),
        # Addresses of other kinds are refused, not fetched: what runs here is on this machine before the run.
        "uri": Field(("text",), doc="Another name for `file`; `file://` addresses are read, others are refused."),
        "source": Field(("map",), doc="How `uri` is reached: {type: file}; other types are refused."),
        "script": Field(
            ("text", "map"),
            doc="Another name for `file`, or {uri, source: {type: file}}; {source: {type: inline, code}} is a program.",
        ),
        "interpreter": Field(
            ("text",), doc="The program that runs the file; by its ending (.py .sh .bash) when absent."
        ),
        "arguments": Field(("list",), doc="Words given to the script, after its name."),
        "env": Field(("map",), doc="Environment variables beside the worker's own; null removes one."),
        "cwd": Field(("text",), doc="The folder to run in, inside the worker's root; the root when absent."),
        "input": Field(("text",), doc="Text for the standard input; none when absent."),
        "job": Field(("map",), doc="Read from older playbooks, where a cluster ran the script.", idle=True),
    },
    knobs={
        "memory": Field(
            ("text", "integer"),
            doc="Most address space of each process: bytes or text like 512M; none when absent.",
        ),
        "max_output_bytes": Field(("integer",), doc="How much of each output is kept, in bytes; 8 MiB when absent."),
    },
    one_of=(("file", "path", "uri", "script"),),
    extras={"shell": ("exit_code", "signal")},
    result="{stdout, stderr, exit_code}",
)
