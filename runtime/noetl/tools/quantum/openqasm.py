"""OpenQASM 2 and 3 text → a circuit: registers, the gates of `qelib1.inc` and `stdgates.inc`, measurements at the end.

Definitions of gates, conditions, resets and loops are told, not skipped.
"""

import ast
import math
import re

from noetl.tools.quantum.circuit import MOST_GATES, MOST_QUBITS, Circuit, Gate, InvalidCircuit, checked_circuit, gate_of

_OLD_REGISTER = re.compile(r"(qreg|creg)\s+(\w+)\s*\[\s*(\d{1,4})\s*\]")
_NEW_REGISTER = re.compile(r"(qubit|bit)\s*(?:\[\s*(\d{1,4})\s*\])?\s+(\w+)")
_MEASURE = re.compile(r"measure\s+(\S+(?:\s*\[[^\]]*\])?)\s*->\s*(.+)|(.+?)\s*=\s*measure\s+(.+)", re.DOTALL)
_GATE = re.compile(r"(\w+)\s*(?:\((.*)\))?\s*(.*)", re.DOTALL)
_PLACE = re.compile(r"(\w+)\s*(?:\[\s*(\d{1,6})\s*\])?")
_REFUSED = ("gate", "opaque", "if", "for", "while", "reset", "def", "input", "let", "ctrl", "inv", "pow")


def parsed(text: str) -> Circuit:
    """The circuit of a text. Raises InvalidCircuit."""
    reader = _Reader()
    for statement in re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL).split(";"):
        if statement.strip():
            reader.read(statement.strip())
    return checked_circuit(Circuit(reader.qubits, reader.bits, tuple(reader.gates), tuple(reader.measured.items())))


class _Reader:
    """The circuit that the statements so far make; a register is where it starts and how many it has."""

    def __init__(self) -> None:
        self.qubits = 0
        self.bits = 0
        self.gates: list[Gate] = []
        self.measured: dict[int, int] = {}
        self._quantum: dict[str, range] = {}
        self._classical: dict[str, range] = {}

    def read(self, statement: str) -> None:
        """Take one statement. Raises InvalidCircuit."""
        word = re.split(r"\W", statement, maxsplit=1)[0]
        if word in ("OPENQASM", "include", "barrier"):
            return
        if word in _REFUSED or "@" in statement:
            raise InvalidCircuit(f"the simulator does not take {statement[:40]!r}")
        if found := _OLD_REGISTER.fullmatch(statement):
            self._declare(found[1] == "qreg", found[2], int(found[3]))
        elif found := _NEW_REGISTER.fullmatch(statement):
            self._declare(found[1] == "qubit", found[3], int(found[2] or 1))
        elif found := _MEASURE.fullmatch(statement):
            self._measure(found[1] or found[4], found[2] or found[3])
        elif found := _GATE.fullmatch(statement):
            self._apply(found[1], found[2], found[3])
        else:
            raise InvalidCircuit(f"{statement[:40]!r} is no statement")

    def _declare(self, is_quantum: bool, name: str, size: int) -> None:
        if name in self._quantum or name in self._classical:
            raise InvalidCircuit(f"the register {name!r} is declared twice")
        start = self.qubits if is_quantum else self.bits
        (self._quantum if is_quantum else self._classical)[name] = range(start, start + size)
        if is_quantum:
            self.qubits += size
        else:
            self.bits += size
        if self.qubits > MOST_QUBITS or self.bits > 1000:
            raise InvalidCircuit(f"the simulator takes at most {MOST_QUBITS} qubits")

    def _measure(self, source: str, target: str) -> None:
        qubits, bits = _places(source, self._quantum), _places(target, self._classical)
        if len(qubits) != len(bits):
            raise InvalidCircuit(f"measure {source} gives {len(qubits)} bits, and {target} has {len(bits)}")
        for qubit, bit in zip(qubits, bits, strict=True):
            if qubit in self.measured or bit in self.measured.values():
                raise InvalidCircuit("a qubit or bit is measured twice, which the simulator does not take")
            self.measured[qubit] = bit

    def _apply(self, name: str, angles: str | None, targets: str) -> None:
        found = [_places(target, self._quantum) for target in targets.split(",")]
        count = max(map(len, found))
        if any(len(places) not in (1, count) for places in found):
            raise InvalidCircuit(f"the registers of {name} have different sizes")
        values = [_number(angle) for angle in (angles or "").split(",") if angle.strip()]
        for position in range(count):  # a register stands for each of its qubits in turn
            qubits = [places[position if len(places) > 1 else 0] for places in found]
            if self.measured.keys() & set(qubits):
                raise InvalidCircuit("a gate follows a measurement of its qubit, which the simulator does not take")
            self.gates.append(gate_of(name, values, qubits))
        if len(self.gates) > MOST_GATES:
            raise InvalidCircuit(f"the simulator takes at most {MOST_GATES} gates")


def _places(text: str, registers: dict[str, range]) -> range:
    """The numbers that a register, or one place in it, stands for."""
    found = _PLACE.fullmatch(text.strip())
    register = None if found is None else registers.get(found[1])
    if found is None or register is None:
        raise InvalidCircuit(f"there is no register {text.strip()[:40]!r}")
    if found[2] is None:
        return register
    place = int(found[2])
    if place >= len(register):
        raise InvalidCircuit(f"{text.strip()[:40]!r} is outside its register")
    return register[place : place + 1]


def _number(text: str) -> float:
    """The value of an angle: numbers, pi, the four operations and parentheses. Raises InvalidCircuit."""
    try:
        value = _value(ast.parse(text.strip(), mode="eval").body) if len(text) <= 200 else math.nan
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError, MemoryError):
        value = math.nan
    if not abs(value) < 1e9:
        raise InvalidCircuit(f"{text.strip()[:40]!r} is no angle")
    return value


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.Name(id="pi" | "π"):
            return math.pi
        case ast.Name(id="tau"):
            return math.tau
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=operator, right=right):
            first, second = _value(left), _value(right)
            match operator:
                case ast.Add():
                    return first + second
                case ast.Sub():
                    return first - second
                case ast.Mult():
                    return first * second
                case ast.Div():
                    return first / second
    raise ValueError
