"""python: program text that runs in a subprocess of the worker (LANGUAGE §7)."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="python",
    summary="Runs Python code with its args as globals; the code gives the result.",
    fields={
        "code": Field(("text",), text="code", doc="The program: assigns `result`, returns, or defines `main`."),
        # A literal: what it decodes to is a program, and nothing looks in there for templates.
        "code_b64": Field(("text",), text="literal", doc="The program as base64 of its UTF-8 text."),
        "script": Field(
            ("text", "map"),
            doc="A file with the program: a path, or {uri, source: {type: file}}; or {source: {type: inline, code}}.",
        ),
        "libs": Field(
            ("map", "list"),
            doc="Imports to make first: alias to module, or {from, import}; a list of modules, or of distributions.",
        ),
        # A literal: what is installed is known when the playbook is compiled.
        "requirements": Field(
            ("list of names",),
            text="literal",
            doc="Packages that the code imports, as `pandas==2.2.3`; installed by uv, which the extra `requirements` "
            "brings, once for each such list and from wheels; under `server` and `worker` with --allow-requirements.",
        ),
        "auth": Field(("text", "map"), doc="A keychain entry, or names to entries, readable in the code as `auth`."),
    },
    knobs={
        "memory": Field(
            ("text", "integer"),
            doc="Most address space of the subprocess: bytes or text like 512M; 4G when absent.",
        ),
        "max_result_bytes": Field(("integer",), doc="The largest result that is taken, in bytes; 64 MiB when absent."),
    },
    one_of=(("code", "code_b64", "script"),),
    extras={"py": ("exception_type",)},
    result="the value assigned to `result`, else returned at the top level, else returned by `main`",
    # The args are names of the code, so a name that neither it nor they bind is found when the playbook is compiled.
    binds_args=True,
)
