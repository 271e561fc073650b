"""A job of the local simulator, all of it in its id: any worker can follow it, and nothing is stored.

An id is `local.` and the URL-safe base64 of the compressed circuit, shots, seed, and the times of its states.
"""

import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

from noetl.clients.content import json_of
from noetl.tools.quantum.circuit import Circuit, InvalidCircuit, circuit_of_list
from noetl.tools.quantum.openqasm import parsed
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

PREFIX = "local."
CIRCUIT_BYTES = 64 * 1024
MOST_SHOTS = 100_000


class Job(NamedTuple):
    """A job: it leaves the queue at `begins` and is done at `ends`, seconds since the epoch."""

    circuit: str | dict[str, Json]
    shots: int
    seed: int
    begins: float
    ends: float

    def state(self, now: float) -> str:
        """Where it stands."""
        return "QUEUED" if now < self.begins else "RUNNING" if now < self.ends else "DONE"


def id_of(job: Job) -> str:
    """The id of a job. Raises InvalidCircuit: it is too large."""
    data = json.dumps(job, separators=(",", ":")).encode()
    if len(data) > CIRCUIT_BYTES:
        raise InvalidCircuit(f"the circuit has more than {CIRCUIT_BYTES} bytes")
    return PREFIX + urlsafe_b64encode(zlib.compress(data)).decode().rstrip("=")


def job_of(text: str) -> Job:
    """The job of an id. Raises InvalidCircuit."""
    try:
        if not text.startswith(PREFIX) or len(text) > 2 * CIRCUIT_BYTES:
            raise ValueError
        encoded = text.removeprefix(PREFIX)
        packed = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        found = json_of(zlib.decompressobj().decompress(packed, CIRCUIT_BYTES))
    except (ValueError, zlib.error):
        found = None
    match found:
        case [str() | dict() as circuit, int(shots), int(seed), int() | float() as begins, int() | float() as ends]:
            if 1 <= shots <= MOST_SHOTS:
                return Job(circuit, shots, seed, begins, ends)
    raise InvalidCircuit("there is no such job")


def circuit_of(source: str | dict[str, Json]) -> Circuit:
    """The circuit of a source. Raises InvalidCircuit."""
    return circuit_of_list(source) if isinstance(source, dict) else parsed(source)
