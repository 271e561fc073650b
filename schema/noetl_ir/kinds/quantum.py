"""quantum: submits and follows jobs on a quantum backend (formal-extended §11); compiled, and not run yet."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="quantum",
    summary="Submits and follows jobs on a quantum backend (formal-extended §11).",
    fields={
        "provider": Field(("text",), doc="The provider of the backend."),
        "backend": Field(("text",), doc="The backend to run on."),
        "op": Field(("text",), doc="What to do: submit, status or results; submit when absent."),
        "circuit": Field(("any",), doc="The circuit to run."),
        "shots": Field(("integer",), doc="How often the circuit is run."),
        "job_id": Field(("text",), doc="The job that status and results are about."),
        "options": Field(("map",), doc="Options of the provider."),
        "auth": Field(
            (
                "text",
                "map",
            ),
            doc="The credential to use.",
        ),
    },
    result="{job_id, state, counts}",
    available=False,
)
