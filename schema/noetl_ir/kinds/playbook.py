"""playbook: another playbook as a child execution (LANGUAGE §7)."""

from noetl_ir.expr import Literal, Template, entries_of
from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="playbook",
    summary="Runs another playbook as an execution of its own and takes its result.",
    fields={
        "path": Field(
            ("text",),
            required=True,
            doc="The child's `metadata.path`, else its file's path, in the catalogue or from here.",
        ),
        "return_step": Field(("text",), doc="The step whose result is taken; the step that ended last when absent."),
        "wait": Field(("boolean",), doc="Whether to wait for the child to end; true when absent."),
        "return_result": Field(("boolean",), doc="Read from older playbooks, where it said to wait.", idle=True),
        "payload": Field(("map",), doc="The child's payload, merged over its workload; `args` go over it."),
        "timeout": Field(("duration",), doc="How long the child may take; it is cancelled then."),
    },
    result="the result of `return_step`, else of the child's last step; {execution_id} with `wait: false`",
    older={"result_step": "return_step"},
    # The child runs as an execution of its own, for days perhaps; no worker waits for it.
    parks=True,
)


def called_path(fields: Template) -> str:
    """The path that a task with these fields calls, "" where it is computed."""
    path = (entries_of(fields) or {}).get("path")
    return str(path.value) if isinstance(path, Literal) and isinstance(path.value, str | int | float) else ""
