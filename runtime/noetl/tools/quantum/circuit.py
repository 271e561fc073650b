"""A circuit as its source says it: gates on qubits, then measurements into bits."""

from collections.abc import Sequence

from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

MOST_QUBITS = 16
MOST_GATES = 10_000


class InvalidCircuit(Exception):
    """A circuit that cannot be run here; the text says why, in plain words."""


class Gate(NamedTuple):
    """One gate; `angles` in radians, controls first among the `qubits`."""

    name: str
    angles: tuple[float, ...]
    qubits: tuple[int, ...]


class Circuit(NamedTuple):
    """`measured` pairs a qubit with the bit that it is read into."""

    qubits: int
    bits: int
    gates: tuple[Gate, ...]
    measured: tuple[tuple[int, int], ...]


ARITIES = {
    **dict.fromkeys(("id", "x", "y", "z", "h", "s", "sdg", "t", "tdg", "sx"), (0, 1)),
    **dict.fromkeys(("rx", "ry", "rz", "p", "u1"), (1, 1)),
    "u2": (2, 1),
    "u3": (3, 1),
    "u": (3, 1),
    **dict.fromkeys(("cx", "cy", "cz", "ch", "swap"), (0, 2)),
    **dict.fromkeys(("cp", "cu1", "crx", "cry", "crz"), (1, 2)),
    **dict.fromkeys(("ccx", "cswap"), (0, 3)),
}
"""Each gate's number of angles and of qubits."""


def gate_of(name: str, angles: Sequence[float], qubits: Sequence[int]) -> Gate:
    """A gate that there is, with what it needs. Raises InvalidCircuit."""
    known = ARITIES.get(name.lower())
    if known is None:
        raise InvalidCircuit(f"there is no gate {name!r}")
    if (len(angles), len(qubits)) != known:
        raise InvalidCircuit(f"the gate {name} takes {known[0]} angles and {known[1]} qubits")
    if len(set(qubits)) != len(qubits):
        raise InvalidCircuit(f"the gate {name} names a qubit twice")
    return Gate(name.lower(), tuple(angles), tuple(qubits))


def circuit_of_list(source: dict[str, Json]) -> Circuit:
    """The circuit of a mapping `{qubits, gates}`; all qubits are measured at its end. Raises InvalidCircuit."""
    qubits, rows = source.get("qubits"), source.get("gates")
    if not isinstance(qubits, int) or isinstance(qubits, bool) or not isinstance(rows, list):
        raise InvalidCircuit("a circuit is OpenQASM text, or a mapping with qubits, a number, and gates, a list")
    if set(source) > {"qubits", "gates"}:
        raise InvalidCircuit("a circuit has qubits and gates, and nothing else")
    gates = []
    for row in rows:
        if not isinstance(row, list) or not row or not isinstance(row[0], str):
            raise InvalidCircuit("a gate is a list: its name, its qubits, and a list of its angles if it has some")
        angles = row[-1] if isinstance(row[-1], list) else []
        places = row[1:-1] if isinstance(row[-1], list) else row[1:]
        gates.append(gate_of(row[0], [_angle(angle) for angle in angles], [_place(place, qubits) for place in places]))
    return checked_circuit(Circuit(qubits, qubits, tuple(gates), tuple((n, n) for n in range(qubits))))


def checked_circuit(circuit: Circuit) -> Circuit:
    """The circuit, if it is one that can be simulated. Raises InvalidCircuit."""
    if not 1 <= circuit.qubits <= MOST_QUBITS:
        raise InvalidCircuit(f"the simulator takes 1 to {MOST_QUBITS} qubits, not {circuit.qubits}")
    if len(circuit.gates) > MOST_GATES:
        raise InvalidCircuit(f"the simulator takes at most {MOST_GATES} gates, not {len(circuit.gates)}")
    if not circuit.measured:
        raise InvalidCircuit("the circuit measures nothing")
    return circuit


def _angle(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9:
        raise InvalidCircuit("an angle is a number, in radians")
    return float(value)


def _place(value: Json, qubits: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < qubits:
        raise InvalidCircuit(f"a qubit is a number from 0 to {qubits - 1}")
    return value
