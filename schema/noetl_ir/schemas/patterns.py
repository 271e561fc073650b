"""Regular expressions that cannot hang: a set of states goes over the text once, and nothing is ever tried again.

The language is that of JSON Schema's `pattern` (ECMA-262 with its `u` flag) as far as a finite automaton has it: texts,
classes, groups, `|`, `* + ? {n,m}`, `^` and `$`, and classes of Unicode as `\\p{Lu}`. What looks around or back, and
`\\b`, is refused when the pattern is read. A text matches where any part of it does, as JSON Schema has it.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from noetl_ir.records import NamedTuple

MAX_PATTERN = 1_000
"""Characters of a pattern."""
MAX_STATES = 2_000
"""States of its automaton: `(a{1,99}){1,99}` has more."""
_MAX_GROUPS = 50
_MAX_PARTS = 20_000
"""Parts that are built, repetitions written out: `((){999}){999}` has few states and many parts."""
_KEPT = 20_000
"""States in the moves of an automaton that are remembered; then they are found anew."""

Spend: TypeAlias = Callable[[int], None]
"""Counts units of work; ends what is too much by raising."""

_Test: TypeAlias = Callable[[str], bool]

_CHAR, _SPLIT, _BEGIN, _END, _DONE = range(5)
"""Kinds of states: a character, two ways, the beginning or the end of the text, and the match."""


class BadPattern(ValueError):
    """A pattern that is none, or is not supported; the text says what."""


class _State(NamedTuple):
    kind: int
    test: _Test | None = None
    out: tuple[int, ...] = ()


_DIGITS = frozenset("0123456789")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_SPACE = frozenset(
    "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
)
_LINES = frozenset("\n\r\u2028\u2029")
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_SETS = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_GROUPS = {"L": "ultmo", "M": "nce", "N": "dlo", "P": "cdseifo", "S": "mcko", "Z": "slp", "C": "cfson"}
_CATEGORIES = frozenset(_GROUPS) | {group + part for group, parts in _GROUPS.items() for part in parts}


class _Parser:
    """Reads a pattern into parts (`_Node`), and holds the states that are made of them, from the end to the beginning
    (`_built`).
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.parts = 0
        self.states: list[_State] = []

    def add_state(self, state: _State) -> int:
        """The number of a new state. Raises BadPattern."""
        if len(self.states) >= MAX_STATES:
            raise BadPattern(f"it has more than {MAX_STATES:,} states")
        self.states.append(state)
        return len(self.states) - 1

    def read(self) -> "_Node":
        """The whole pattern. Raises BadPattern."""
        node = self.choice()
        if self.at < len(self.text):
            raise BadPattern(f"`)` at {self.at + 1} closes nothing")
        return node

    def peek(self) -> str:
        """The next character, "" at the end."""
        return self.text[self.at : self.at + 1]

    def take(self, expected: str = "") -> str:
        """The next character, gone past. Raises BadPattern."""
        found = self.peek()
        if not found or (expected and found != expected):
            wanted = f"`{expected}`" if expected else "something"
            raise BadPattern(f"{wanted} is missing at {self.at + 1}")
        self.at += 1
        return found

    def choice(self) -> "_Node":
        """Alternatives."""
        found = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            found.append(self.sequence())
        return found[0] if len(found) == 1 else _Node("|", found)

    def sequence(self) -> "_Node":
        """Parts in a row."""
        found: list[_Node] = []
        while self.peek() not in ("", "|", ")"):
            found.append(self.repeated(self.atom()))
        return _Node("", found)

    def repeated(self, node: "_Node") -> "_Node":
        """A part with the quantifier behind it, if there is one."""
        sign = self.peek()
        if sign in ("*", "+", "?") and sign:
            self.at += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        elif sign == "{":
            least, most = self.bounds()
        else:
            return node
        # ECMA-262 refuses it under its `u` flag: it says nothing.
        if node.kind == "assert":
            raise BadPattern("`^` and `$` are not repeated")
        if self.peek() == "?":  # as few as can be: the same texts match
            self.at += 1
        if self.peek() in ("*", "+", "?", "{") and self.peek():
            raise BadPattern(f"`{self.peek()}` at {self.at + 1} repeats nothing")
        return _Node("*", [node], least=least, most=most)

    def bounds(self) -> tuple[int, int | None]:
        """Numbers in braces: `{n}`, `{n,}`, `{n,m}`."""
        end = self.text.find("}", self.at)
        inner = self.text[self.at + 1 : end] if end > 0 else ""
        first, comma, second = inner.partition(",")
        if not first.isdecimal() or not first.isascii() or len(first) > 4 or not (second or "0").isdecimal():
            raise BadPattern(f"`{{` at {self.at + 1} is not followed by numbers: write `\\{{` for the character")
        self.at = end + 1
        # More digits than these are more than there may be states, and refused when those are built.
        least = int(first)
        most = least if not comma else int(second[:5]) if second else None
        if most is not None and most < least:
            raise BadPattern(f"`{{{inner}}}` ends before it begins")
        return least, most

    def atom(self) -> "_Node":
        """A character, a class, a group or an assertion."""
        here = self.take()
        match here:
            case "^" | "$":
                return _Node("assert", [], begin=here == "^")
            case ".":
                return _Node("c", [], test=lambda char: char not in _LINES)
            case "(":
                return self.group()
            case "[":
                return _Node("c", [], test=self.bracket())
            case "\\":
                return _Node("c", [], test=self.escape())
            case "*" | "+" | "?" | "{":
                raise BadPattern(f"`{here}` at {self.at} repeats nothing")
            case "]" | "}":
                raise BadPattern(f"`{here}` at {self.at} is written `\\{here}`")
        return _Node("c", [], test=here.__eq__)

    def group(self) -> "_Node":
        """A group; its name means nothing here."""
        if self.text.startswith("?:", self.at):
            self.at += 2
        elif self.peek() == "?":
            end = self.text.find(">", self.at)
            if not self.text.startswith("?<", self.at) or self.text[self.at + 2 : self.at + 3] in "=!" or end < 0:
                raise BadPattern(f"`({self.text[self.at : self.at + 3]}` looks around, which is not supported")
            self.at = end + 1
        self.depth += 1
        if self.depth > _MAX_GROUPS:
            raise BadPattern("its groups are nested too deeply")
        node = self.choice()
        self.depth -= 1
        self.take(")")
        return node

    def escape(self) -> _Test:
        """The characters that an escape stands for."""
        here = self.take()
        if here.lower() in _SETS:
            chars = _SETS[here.lower()]
            return chars.__contains__ if here.islower() else lambda char: char not in chars
        if here in ("p", "P"):
            return self.category(is_in=here == "p")
        return self.escaped(here).__eq__

    def escaped(self, here: str) -> str:
        """The one character of an escape."""
        if here in _CONTROLS and not (here == "0" and self.peek() in _DIGITS and self.peek()):
            return _CONTROLS[here]
        if here == "x":
            return self.code(2)
        if here == "u":
            if self.peek() == "{":
                end = self.text.find("}", self.at)
                digits, self.at = self.text[self.at + 1 : max(end, self.at)], max(end + 1, self.at)
                return _character(digits)
            return self.code(4)
        # Any sign may be escaped. A letter may not: it could mean something in a later ECMA-262.
        if not here.isalnum() and here != "_":
            return here
        what = "looks back" if here in "123456789k" else "is a boundary" if here in "bB" else "has no meaning"
        raise BadPattern(f"`\\{here}` {what}, which is not supported")

    def code(self, length: int) -> str:
        """A character by so many hexadecimal digits."""
        digits = self.text[self.at : self.at + length]
        self.at += length
        if len(digits) < length:
            raise BadPattern("an escape ends too soon")
        return _character(digits)

    def category(self, *, is_in: bool) -> _Test:
        """A class of Unicode: `{L}`, `{Lu}`."""
        self.take("{")
        end = self.text.find("}", self.at)
        name = self.text[self.at : end] if end > 0 else ""
        if name not in _CATEGORIES:
            raise BadPattern(f"`\\p{{{name[:20]}}}` is no general category of Unicode, as `\\p{{L}}` or `\\p{{Lu}}` is")
        self.at = end + 1

        def test(char: str) -> bool:
            from unicodedata import category

            return category(char).startswith(name) is is_in

        return test

    def bracket(self) -> _Test:
        """A class in brackets."""
        negated = self.peek() == "^"
        self.at += negated
        single: set[str] = set()
        ranges: list[tuple[str, str]] = []
        tests: list[_Test] = []
        while self.peek() != "]":
            low = self.member(tests)
            if self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self.member(tests)
                if low is None or high is None or high < low:
                    raise BadPattern(f"the range that ends at {self.at} is none")
                ranges.append((low, high))
            elif low is not None:
                single.add(low)
        self.at += 1

        def test(char: str) -> bool:
            found = char in single or any(low <= char <= high for low, high in ranges)
            return (found or any(one(char) for one in tests)) is not negated

        return test

    def member(self, tests: list[_Test]) -> str | None:
        """One character of a class, or None for a set, which goes to the tests."""
        here = self.take()
        if here != "\\":
            return here
        sign = self.peek()
        if sign == "b":
            self.at += 1
            return "\b"
        if sign and (sign.lower() in _SETS or sign in ("p", "P")):
            tests.append(self.escape())
            return None
        return self.escaped(self.take())


def _character(digits: str) -> str:
    try:
        number = int(digits, 16) if digits.isalnum() else -1
    except ValueError:
        number = -1
    if not 0 <= number <= 0x10FFFF:
        raise BadPattern(f"`{digits[:12]}` is no number of a character")
    return chr(number)


class _Node:
    """A part of a pattern: `c` a character, `assert`, `|`, `*` a repetition, "" a row."""

    __slots__ = ("begin", "inner", "kind", "least", "most", "test")

    def __init__(
        self,
        kind: str,
        inner: list["_Node"],
        *,
        test: _Test | None = None,
        begin: bool = False,
        least: int = 1,
        most: int | None = 1,
    ) -> None:
        self.kind = kind
        self.inner = inner
        self.test = test
        self.begin = begin
        self.least = least
        self.most = most


def _built(parser: _Parser, node: _Node, after: int) -> int:
    """The state where a part begins that `after` follows. Raises BadPattern."""
    parser.parts += 1
    if parser.parts > _MAX_PARTS:
        raise BadPattern(f"it has more than {_MAX_PARTS:,} parts")
    match node.kind:
        case "c":
            return parser.add_state(_State(_CHAR, node.test, (after,)))
        case "assert":
            return parser.add_state(_State(_BEGIN if node.begin else _END, None, (after,)))
        case "|":
            return parser.add_state(_State(_SPLIT, None, tuple([_built(parser, one, after) for one in node.inner])))
        case "*":
            return _repetition(parser, node, after)
    # From the end: a state names the one that follows it, which has to exist.
    for one in reversed(node.inner):
        after = _built(parser, one, after)
    return after


def _repetition(parser: _Parser, node: _Node, after: int) -> int:
    (inner,) = node.inner
    if node.most is None:
        # A place for the state of the loop, which its own inside leads back to; what it is is known only once that is
        # built.
        again = parser.add_state(_State(_SPLIT))
        parser.states[again] = _State(_SPLIT, None, (_built(parser, inner, again), after))
        after = again
    else:
        last = after
        # `x{2,4}` is `xx(x(x)?)?`: written out, as an automaton cannot count.
        for _ in range(node.most - node.least):
            after = parser.add_state(_State(_SPLIT, None, (_built(parser, inner, after), last)))
    for _ in range(node.least):
        after = _built(parser, inner, after)
    return after


class Pattern:
    """A pattern as an automaton. Its moves are remembered as they are found, so that most texts cost one look-up a
    character.
    """

    __slots__ = ("_begin", "_kept", "_moves", "_start", "_states")

    def __init__(self, text: str) -> None:
        if len(text) > MAX_PATTERN:
            raise BadPattern(f"it is longer than {MAX_PATTERN:,} characters")
        parser = _Parser(text)
        node = parser.read()
        done = parser.add_state(_State(_DONE))
        self._begin = _built(parser, node, done)
        self._states = parser.states
        self._moves: dict[tuple[frozenset[int], str], frozenset[int]] = {}
        self._kept = 0
        self._start = self._closed((self._begin,), at_start=True)

    def matches(self, text: str, spend: Spend) -> bool:
        """Whether some part of a text matches; `spend` is told of the work before it is done."""
        here, moves = self._start, self._moves
        # Before the first character: a text of megabytes is refused at once.
        spend(len(text) + len(here))
        for char in text:
            if -1 in here:
                return True
            after = moves.get((here, char))
            if after is None:
                spend(len(here) + len(self._states) // 8)
                after = self._after(here, char)
                self._kept += len(after)
                # Forgotten as a whole: which moves will be asked for again is not known, and an index of their age
                # would cost more.
                if self._kept > _KEPT:
                    moves.clear()
                    self._kept = len(after)
                moves[here, char] = after
            here = after
        return -1 in here or -1 in self._closed(here, at_start=not text, at_end=True)

    def _after(self, here: frozenset[int], char: str) -> frozenset[int]:
        states = self._states
        reached = [states[number].out[0] for number in here if _takes(states[number], char)]
        # A part may begin anywhere.
        return self._closed((*reached, self._begin), at_start=False)

    def _closed(
        self, numbers: tuple[int, ...] | frozenset[int], *, at_start: bool, at_end: bool = False
    ) -> frozenset[int]:
        """The states that are reached without a character; -1 stands for the match."""
        found: set[int] = set()
        seen: set[int] = set()
        waiting = [number for number in numbers if number >= 0]
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            kind, _, out = self._states[number]
            if kind == _DONE:
                found.add(-1)
            elif kind == _SPLIT or (kind == _BEGIN and at_start) or (kind == _END and at_end):
                waiting += out
            # `$` is kept: whether the text ends here is known only when no character follows.
            elif kind in (_CHAR, _END):
                found.add(number)
        return frozenset(found)


def _takes(state: _State, char: str) -> bool:
    return state.test is not None and state.test(char)


@lru_cache(256)
def pattern_of(text: str) -> Pattern:
    """The automaton of a pattern. Raises BadPattern."""
    return Pattern(text)
