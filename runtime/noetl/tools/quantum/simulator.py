"""The state vector of a circuit, and what measuring it many times gives.

Amplitude `i` belongs to the basis state whose qubit `q` is bit `q` of `i`. Gates are those of OpenQASM's standard
libraries (arXiv:1707.03429, §4; OpenQASM 3 `stdgates.inc`).
"""

import asyncio
import cmath
import math
from itertools import accumulate
from random import Random

from noetl.tools.quantum.circuit import Circuit, Gate

Matrix = tuple[complex, complex, complex, complex]
_AT_ONCE = 4096  # shots between two looks at the loop
_HALF = math.sqrt(0.5)


async def counts_of(circuit: Circuit, shots: int, seed: int) -> dict[str, int]:
    """How often each text of bits was measured, bit 0 to the right. Lets others run between two gates."""
    state = await state_of(circuit)
    chances: dict[int, float] = {}
    for index, amplitude in enumerate(state):
        if chance := abs(amplitude) ** 2:
            read = sum(1 << bit for qubit, bit in circuit.measured if index >> qubit & 1)
            chances[read] = chances.get(read, 0.0) + chance
    outcomes, weights = list(chances), list(accumulate(chances.values()))
    chance_source, counts = Random(seed), dict.fromkeys(outcomes, 0)
    for start in range(0, shots, _AT_ONCE):
        await asyncio.sleep(0)
        for outcome in chance_source.choices(outcomes, cum_weights=weights, k=min(_AT_ONCE, shots - start)):
            counts[outcome] += 1
    width = circuit.bits
    return {format(outcome, f"0{width}b"): counts[outcome] for outcome in sorted(counts) if counts[outcome]}


async def state_of(circuit: Circuit) -> list[complex]:
    """The amplitudes before the measurements."""
    state = [0j] * (1 << circuit.qubits)
    state[0] = 1 + 0j
    for gate in circuit.gates:
        await asyncio.sleep(0)
        for controls, target, matrix in _steps(gate):
            _turn(state, controls, target, matrix)
    return state


def _steps(gate: Gate) -> list[tuple[tuple[int, ...], int, Matrix]]:
    """A gate as turns of one qubit, each under some controls."""
    name, angles, qubits = gate
    match name:
        case "swap" | "cswap":
            *controls, first, second = qubits
            flip = _matrix("x", ())
            pairs = ((first, second), (second, first), (first, second))
            return [((*controls, control), target, flip) for control, target in pairs]
        case "cx" | "cy" | "cz" | "ch" | "cp" | "cu1" | "crx" | "cry" | "crz" | "ccx":
            return [(qubits[:-1], qubits[-1], _matrix(name.lstrip("c"), angles))]
    return [((), qubits[0], _matrix(name, angles))]


def _turn(state: list[complex], controls: tuple[int, ...], target: int, matrix: Matrix) -> None:
    """Turn one qubit in all basis states whose controls are 1."""
    a, b, c, d = matrix
    needed, step = sum(1 << control for control in controls), 1 << target
    for block in range(0, len(state), step << 1):
        for low in range(block, block + step):
            if low & needed == needed:
                zero, one = state[low], state[low + step]
                state[low], state[low + step] = a * zero + b * one, c * zero + d * one


def _matrix(name: str, angles: tuple[float, ...]) -> Matrix:
    """The matrix of a gate of one qubit."""
    match name, angles:
        case "rx", (angle,):
            return (math.cos(angle / 2), -1j * math.sin(angle / 2), -1j * math.sin(angle / 2), math.cos(angle / 2))
        case "ry", (angle,):
            return (math.cos(angle / 2), -math.sin(angle / 2), math.sin(angle / 2), math.cos(angle / 2))
        case "rz", (angle,):
            return (cmath.exp(-0.5j * angle), 0, 0, cmath.exp(0.5j * angle))
        case (("p" | "u1"), (angle,)):
            return (1, 0, 0, cmath.exp(1j * angle))
        case "u2", (phi, lam):
            return _rotation(math.pi / 2, phi, lam)
        case (("u3" | "u"), (theta, phi, lam)):
            return _rotation(theta, phi, lam)
    return _FIXED[name]


def _rotation(theta: float, phi: float, lam: float) -> Matrix:
    cosine, sine = math.cos(theta / 2), math.sin(theta / 2)
    return (cosine, -cmath.exp(1j * lam) * sine, cmath.exp(1j * phi) * sine, cmath.exp(1j * (phi + lam)) * cosine)


_FIXED: dict[str, Matrix] = {
    "id": (1, 0, 0, 1),
    "x": (0, 1, 1, 0),
    "y": (0, -1j, 1j, 0),
    "z": (1, 0, 0, -1),
    "h": (_HALF, _HALF, _HALF, -_HALF),
    "s": (1, 0, 0, 1j),
    "sdg": (1, 0, 0, -1j),
    "t": (1, 0, 0, cmath.exp(0.25j * math.pi)),
    "tdg": (1, 0, 0, cmath.exp(-0.25j * math.pi)),
    "sx": ((1 + 1j) / 2, (1 - 1j) / 2, (1 - 1j) / 2, (1 + 1j) / 2),
}
