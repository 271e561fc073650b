"""quantum: states against those of the textbook, and jobs up to their counts (formal-extended §11)."""

import asyncio
import cmath
import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from goldens import GOLDEN
from harness.running import run
from noetl.tools import quantum
from noetl.tools.quantum.circuit import ARITIES, Circuit, Gate, InvalidCircuit, gate_of
from noetl.tools.quantum.jobs import Job, circuit_of, id_of
from noetl.tools.quantum.simulator import state_of
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from tool_doubles import FakeEnv, call_of, failed, waited

BELL = 'OPENQASM 2.0; include "qelib1.inc"; qreg q[2]; creg c[2]; h q[0]; cx q[0],q[1]; measure q -> c;'
HALF = math.sqrt(0.5)


@pytest.fixture
def env(tmp_path: Path) -> FakeEnv:
    return FakeEnv(tmp_path)


def ran(env: FakeEnv, timeout: Json = None, /, **fields: Json) -> Outcome:
    return waited(quantum.run(call_of("quantum", fields, timeout=timeout), env))


def state(text: str, qubits: int = 1) -> list[complex]:
    """The state that some OpenQASM statements make of |0…0⟩."""
    return waited(state_of(circuit_of(f"qreg q[{qubits}]; creg c[{qubits}]; {text}; measure q -> c")))


def slow_quantum(_: Path, url: str) -> dict[str, Json]:
    """A call that is held up by the simulation of a large circuit."""
    return {"op": "results", "job_id": id_of(Job({"qubits": 16, "gates": [["h", 0]] * 5000}, 1, 1, 0, 0))}


def close(found: list[complex], wanted: list[complex]) -> bool:
    return len(found) == len(wanted) and all(
        cmath.isclose(a, b, abs_tol=1e-12) for a, b in zip(found, wanted, strict=True)
    )


def test_submit_poll_and_results(env: FakeEnv) -> None:
    submitted = ran(env, circuit=BELL, shots=1000, options={"seed": 1, "delay": "400ms"}).result
    assert isinstance(submitted, dict) and submitted["state"] == "QUEUED"
    job: Json = submitted["job_id"]
    assert failed(ran(env, op="results", job_id=job))["code"] == "quantum.not_done"
    states = []
    while not states or states[-1] != "DONE":
        found = ran(env, op="status", job_id=job).result
        assert isinstance(found, dict) and found["job_id"] == job
        if not states or found["state"] != states[-1]:
            states.append(found["state"])
        waited(asyncio.sleep(0.01))
    assert states[-1] == "DONE" and [s for s in ("QUEUED", "RUNNING", "DONE") if s in states] == states
    results = ran(env, op="results", job_id=job).result
    assert isinstance(results, dict)
    counts = results["counts"]
    assert isinstance(counts, dict)
    assert set(counts) == {"00", "11"} and results["shots"] == 1000
    zeros, ones = counts["00"], counts["11"]
    assert isinstance(zeros, int) and isinstance(ones, int)
    assert zeros + ones == 1000 and 400 < zeros < 600  # six standard deviations


def test_a_repeated_submission_counts_the_same(env: FakeEnv) -> None:
    jobs = [ran(env, circuit=BELL).result for _ in range(2)]
    results = [ran(env, op="results", job_id=job["job_id"]).result for job in jobs if isinstance(job, dict)]
    assert isinstance(results[0], dict) and isinstance(results[1], dict)
    assert results[0]["counts"] == results[1]["counts"]


@pytest.mark.parametrize(
    ("text", "qubits", "wanted"),
    [
        ("x q[0]", 2, [0, 1, 0, 0]),
        ("x q[1]", 2, [0, 0, 1, 0]),
        ("h q", 1, [HALF, HALF]),
        ("x q; h q", 1, [HALF, -HALF]),
        ("y q", 1, [0, 1j]),
        ("h q; s q", 1, [HALF, HALF * 1j]),
        ("h q; t q; tdg q; sdg q; z q", 1, [HALF, HALF * 1j]),
        ("sx q; sx q", 1, [0, 1]),
        ("rx(pi) q", 1, [0, -1j]),
        ("ry(pi/2) q", 1, [HALF, HALF]),
        ("h q; rz(pi/2) q", 1, [HALF * cmath.exp(-0.25j * math.pi), HALF * cmath.exp(0.25j * math.pi)]),
        ("h q; p(pi) q", 1, [HALF, -HALF]),
        ("u2(0,pi) q", 1, [HALF, HALF]),
        ("u3(pi,0,pi) q", 1, [0, 1]),
        ("h q[0]; cx q[0],q[1]; cx q[1],q[2]", 3, [HALF, 0, 0, 0, 0, 0, 0, HALF]),
        ("x q[0]; swap q[0],q[2]", 3, [0, 0, 0, 0, 1, 0, 0, 0]),
        ("x q[0]; x q[1]; ccx q[0],q[1],q[2]", 3, [0, 0, 0, 0, 0, 0, 0, 1]),
        ("x q[0]; x q[1]; cswap q[0],q[1],q[2]", 3, [0, 0, 0, 0, 0, 1, 0, 0]),
        ("h q; cz q[0],q[1]", 2, [0.5, 0.5, 0.5, -0.5]),
        ("x q[0]; cry(pi) q[0],q[1]", 2, [0, 0, 0, 1]),
        ("h q; cp(pi/2) q[0],q[1]", 2, [0.5, 0.5, 0.5, 0.5j]),
        ("rx(-(pi - 2*1.5e-1)/3 + 0.5) q; rx((pi-.3)/3-0.5) q", 1, [1, 0]),
    ],
)
def test_states(text: str, qubits: int, wanted: list[complex]) -> None:
    assert close(state(text, qubits), wanted)


@pytest.mark.parametrize("name", ARITIES)
def test_every_gate_keeps_the_norm_and_can_be_undone_by_its_powers(name: str) -> None:
    angles, qubits = ARITIES[name]
    gates = [gate_of("h", (), (q,)) for q in range(qubits)] + [gate_of("t", (), (0,))]
    gates.append(Gate(name, (0.3, 0.7, 1.1)[:angles], tuple(range(qubits))))
    found = waited(state_of(Circuit(qubits, qubits, tuple(gates), ((0, 0),))))
    assert math.isclose(sum(abs(amplitude) ** 2 for amplitude in found), 1.0)


def test_the_quantum_fourier_transform_of_one() -> None:
    """Of |1⟩ it gives amplitudes exp(2πi·k/8)/√8 (Nielsen and Chuang, §5.1)."""
    text = "x q[0]; h q[2]; cp(pi/2) q[1],q[2]; cp(pi/4) q[0],q[2]; h q[1]; cp(pi/2) q[0],q[1]; h q[0]; swap q[0],q[2]"
    wanted = [cmath.exp(2j * math.pi * k / 8) / math.sqrt(8) for k in range(8)]
    assert close(state(text, 3), wanted)


@pytest.mark.parametrize(
    ("circuit", "counts"),
    [
        ("OPENQASM 3; qubit[3] q; bit[2] c; x q[2]; c[1] = measure q[2]; c[0] = measure q[0];", {"10": 8}),
        ("qubit q; bit c; x q; c = measure q; // done", {"1": 8}),
        ("qreg a[1]; qreg b[2]; creg c[3]; x b[1]; measure b[1] -> c[0];", {"001": 8}),
        ({"qubits": 2, "gates": [["x", 0], ["rx", 1, [math.pi]]]}, {"11": 8}),
        ({"qubits": 1, "gates": []}, {"0": 8}),
    ],
)
def test_counts(env: FakeEnv, circuit: Json, counts: Json) -> None:
    job = ran(env, circuit=circuit, shots=8).result
    assert isinstance(job, dict)
    results = ran(env, op="results", job_id=job["job_id"]).result
    assert isinstance(results, dict) and results["counts"] == counts


@pytest.mark.parametrize(
    "circuit",
    [
        "",
        "qreg q[1]; h q;",
        "qreg q[17]; creg c[1]; measure q[0] -> c[0];",
        "qreg q[1]; creg c[1]; h r; measure q -> c;",
        "qreg q[1]; creg c[1]; h q[1]; measure q -> c;",
        "qreg q[1]; creg c[1]; warp q; measure q -> c;",
        "qreg q[2]; creg c[2]; cx q[0],q[0]; measure q -> c;",
        "qreg q[1]; creg c[1]; rx(__import__('os')) q; measure q -> c;",
        "qreg q[1]; creg c[1]; rx(1/0) q; measure q -> c;",
        "qreg q[1]; creg c[1]; rx() q; measure q -> c;",
        "qreg q[1]; creg c[1]; measure q -> c; x q;",
        "qreg q[2]; creg c[1]; measure q -> c;",
        "qreg q[1]; creg c[1]; if (c==1) x q; measure q -> c;",
        "gate g a { h a; } qreg q[1]; creg c[1]; g q; measure q -> c;",
        "qreg q[1]; creg c[1]; " + "x q; " * 10_001 + "measure q -> c;",
        {"qubits": 0, "gates": []},
        {"qubits": 1, "gates": [["x", 1]]},
        {"qubits": 1, "gates": ["x"]},
        {"qubits": 1, "gates": [["rx", 0, ["a"]]]},
        {"qubits": 1},
    ],
    ids=str,
)
def test_a_circuit_that_cannot_run_is_told_when_it_is_submitted(env: FakeEnv, circuit: Json) -> None:
    assert failed(ran(env, circuit=circuit))["code"] == "quantum.circuit"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"circuit": BELL, "shots": 0}, "fields.invalid"),
        ({"circuit": BELL, "options": {"noise": 1}}, "fields.invalid"),
        ({"circuit": BELL, "provider": "ibm"}, "quantum.provider"),
        ({"op": "status", "job_id": "local.x"}, "quantum.job"),
        ({"op": "status", "job_id": "ibm-1"}, "quantum.job"),
        ({"op": "results"}, "quantum.job"),
        ({"op": "cancel"}, "fields.invalid"),
    ],
)
def test_what_cannot_be_asked_for(env: FakeEnv, fields: dict[str, Json], code: str) -> None:
    assert failed(ran(env, **fields))["code"] == code


def test_a_long_simulation_ends_in_time(env: FakeEnv) -> None:
    gates: Json = [["h", q % 16] for q in range(5000)]
    job = ran(env, circuit={"qubits": 16, "gates": gates}).result
    assert isinstance(job, dict)
    assert failed(ran(env, 0.2, op="results", job_id=job["job_id"]))["code"] == "timeout"


def test_a_register_is_no_gate() -> None:
    with pytest.raises(InvalidCircuit, match="no gate 'q'"):
        gate_of("q", (), (0,))


def test_the_example_of_the_profile_runs_to_its_counts(tmp_path: Path) -> None:
    """formal-extended §11 as it stands, but for its provider, and for the table: SQLite, not PostgreSQL."""
    text = (GOLDEN / "spec" / "extended-11-1.yaml").read_text()
    text = text.replace("provider: ibm", "provider: local\n      options: {delay: 300ms}")
    text = text.replace("initial_delay: 2", "initial_delay: 0.05")
    text = text.replace('{ kind: postgres, auth: "{{ workload.pg_auth }}", ', '{ kind: sqlite, database: "q.db", ')
    text = text.replace("next: end", "next: end\n  - {step: end}")
    with closing(sqlite3.connect(tmp_path / "q.db")) as database:
        database.execute("CREATE TABLE qpu_results (job_id TEXT, counts TEXT)")
        ran = run(text, payload={"circuit": BELL, "shots": 100}, real=True, root=tmp_path)
        assert ran.status == "completed", ran.execution.failure
        ((job, counts),) = database.execute("SELECT job_id, counts FROM qpu_results").fetchall()
    assert job == ran.execution.ctx["job_id"]
    assert sum(json.loads(counts).values()) == 100 and set(json.loads(counts)) == {"00", "11"}
