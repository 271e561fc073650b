"""quantum: submit a circuit, ask how its job stands, fetch what was counted (formal-extended §11).

A repeat of a submission, which a lost worker may cause, gives a job with the same counts: chance comes from the
task's `action_id` unless `options.seed` says it.
Error codes: `quantum.circuit`, `quantum.provider`, `quantum.job`, `quantum.not_done`, `timeout`, `fields.invalid`.
"""

import asyncio
import time
from hashlib import sha256

from noetl.ports import Env, ToolCall
from noetl.tools.quantum.circuit import InvalidCircuit
from noetl.tools.quantum.jobs import MOST_SHOTS, Job, circuit_of, id_of, job_of
from noetl.tools.quantum.simulator import counts_of
from noetl_ir.expr import Json
from noetl_ir.kinds import limit_of, misfits, seconds_of
from noetl_ir.kinds.quantum import KIND
from noetl_ir.outcome import Outcome, error, ok

SHOTS = 1024


async def run(call: ToolCall, env: Env) -> Outcome:
    """Do what `op` says."""
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    fields, seconds = call.fields, limit_of(call.timeout)
    for name, known in (("provider", ("local",)), ("backend", ("simulator",))):
        if fields.get(name) is not None and fields[name] not in known:
            return error("quantum.provider", f"there is no {name} {str(fields[name])!r} here; {name}: {known[0]} is")
    if (fields.get("op") or "submit") == "submit":
        return _submitted(call)
    try:
        job, now = job_of(str(fields.get("job_id"))), time.time()
    except InvalidCircuit as problem:
        return error("quantum.job", str(problem))
    about: dict[str, Json] = {"job_id": str(fields["job_id"]), "state": job.state(now)}
    if fields["op"] == "status":
        return ok(about)
    if job.state(now) != "DONE":
        return error("quantum.not_done", f"the job is {job.state(now)}; ask for its status first")
    try:
        async with asyncio.timeout(seconds):
            counts: dict[str, Json] = dict(await counts_of(circuit_of(job.circuit), job.shots, job.seed))
            return ok({**about, "shots": job.shots, "counts": counts})
    except InvalidCircuit as problem:
        return error("quantum.job", str(problem))
    except TimeoutError:
        return error("timeout", f"the simulation took longer than {seconds:g} s")


def _submitted(call: ToolCall) -> Outcome:
    circuit, options = call.fields.get("circuit"), call.fields.get("options")
    settings = options if isinstance(options, dict) else {}
    shots = call.fields.get("shots")
    shots = SHOTS if shots is None else shots
    seed, delay = settings.get("seed"), seconds_of(settings.get("delay", 0))
    if not isinstance(shots, int) or not 1 <= shots <= MOST_SHOTS:
        return error("fields.invalid", f"shots must be 1 to {MOST_SHOTS}")
    if seed is None:
        seed = int.from_bytes(sha256(call.action_id.encode("utf-8", "surrogatepass")).digest()[:6], "big")
    if not isinstance(seed, int) or isinstance(seed, bool) or delay is None or not settings.keys() <= {"seed", "delay"}:
        return error("fields.invalid", "options may have seed, a whole number, and delay, a duration")
    source = circuit if isinstance(circuit, dict) else str(circuit or "")
    try:
        circuit_of(source)  # so that what cannot run is told now
        now = time.time()
        begins, ends = (int((now + part * delay) * 1000) / 1000 for part in (0.5, 1.0))  # without delay it is done now
        job = Job(source, shots, seed, begins, ends)
        return ok({"job_id": id_of(job), "state": job.state(now)})
    except InvalidCircuit as problem:
        return error("quantum.circuit", str(problem))
