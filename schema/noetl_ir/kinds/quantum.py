"""quantum: circuits, submitted, followed and read (formal-extended §11)."""

from noetl_ir.kinds import Field, Kind

KIND = Kind(
    name="quantum",
    summary="Submits, follows and reads the jobs of circuits; the local simulator is the backend there is.",
    fields={
        "op": Field(("text",), values=("submit", "status", "results"), doc="What to do; submit when absent."),
        # `runs` and not `values`: another provider is a name that is known, and only not run by this version.
        "provider": Field(
            ("text",), runs=("local",), doc="The provider of the backend: local, which is meant when absent."
        ),
        "backend": Field(
            ("text",), runs=("simulator",), doc="The backend to run on: simulator, which is meant when absent."
        ),
        "circuit": Field(
            ("text", "map"),
            doc="For submit: OpenQASM 2 or 3, or {qubits: N, gates: [[h, 0], [cx, 0, 1], [rz, 1, [0.5]], …]}.",
        ),
        "shots": Field(("integer",), doc="For submit: how often the circuit is run; 1024 when absent."),
        "job_id": Field(("text",), doc="For status and results: the job."),
        "options": Field(
            ("map",), doc="For submit: {seed: N, delay: DURATION}, chance and how long the job is to queue and run."
        ),
        "auth": Field(("text", "map"), doc="Read from older playbooks; the local simulator needs none.", idle=True),
    },
    result="{job_id, state}, and for results {job_id, state, shots, counts}; a state is QUEUED, RUNNING or DONE, "
    "counts are by the measured bits, bit 0 to the right",
)
