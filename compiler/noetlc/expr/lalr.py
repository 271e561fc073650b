"""Runs the generated LALR tables over tokens. Nothing here recurses, however deep or long the expression."""

from functools import cache

from noetl_ir.expr import Expr, children
from noetl_ir.records import NamedTuple
from noetlc.expr import build
from noetlc.expr.errors import TemplateError
from noetlc.expr.tokens import END, LexedToken

MAX_DEPTH = 100
"""How high the tree of an expression may be: a chain of more than about 100 `and` or `+` is refused.

Comparing, hashing and evaluating nodes recurse, so this keeps them far from Python's limit.
"""

_OPERANDS = frozenset({"NAME", "CONST", "STRING", "INT", "FLOAT", "LPAR", "LSQB", "LBRACE", "MINUS", "PLUS"})
_OPERATORS = frozenset({"AND", "OR", "EQ", "NE", "LT", "LE", "GT", "GE", "STAR", "SLASH", "PERCENT", "TILDE"})
_LESSER = frozenset({"DOUBLE_SLASH", "DOUBLE_STAR", "IS", "IF", "IN", "NOT", "KEY", "PIPE", "DOT"})
_SHOWN = {
    "ASSIGN": "`=`", "COLON": "`:`", "COMMA": "`,`", "LPAR": "`(`", "RPAR": "`)`", "LSQB": "`[`",
    "RSQB": "`]`", "RBRACE": "`}`", "ELSE": "`else`", "NAME": "a name", "INT": "a number",
    "STRING": "text", END: "the end of the expression", "IN": "`in`",
}  # fmt: skip
_HINTS = {
    "ASSIGN": "write `==` to compare", "DOUBLE_STAR": "", "COLON": "write `a if condition else b`",
    "PIPE": "write `or`; a single `|` is followed by a filter",
}  # fmt: skip


class ParseTables(NamedTuple):
    """Per state: terminal → state to shift to (positive), or minus the production to reduce by; and gotos."""

    actions: list[dict[str, int]]
    gotos: list[dict[str, int]]
    productions: list[tuple[str, int, build._Maker | None]]


@cache
def tables() -> ParseTables:
    """The generated tables, decoded. `0` as an action accepts; a maker that is None passes its part on."""
    from noetlc.generated.grammar_tables import PRODUCTIONS, STATES, TERMINALS

    # One character a terminal keeps the generated module small; it is imported when the first expression needs it.
    kinds = dict(word.split("=") for word in TERMINALS.split())
    productions: list[tuple[str, int, build._Maker | None]] = [("", 0, None)]
    for line in PRODUCTIONS.split(";"):
        origin, size, maker = line.split()
        productions.append((origin, int(size), None if maker == "same" else getattr(build, maker)))
    actions, gotos = [], []
    for line in STATES.split(";"):
        shifts, reductions, targets = line.split("|")
        action = {kinds[word[0]]: int(word[1:]) for word in shifts.split()}
        for word in reductions.split():
            production, letters = word.split("=")
            action.update((kinds[letter], -int(production)) for letter in letters)
        actions.append(action)
        gotos.append({origin: int(state) for origin, state in (word.split("=") for word in targets.split())})
    return ParseTables(actions, gotos, productions)


_passed: dict[tuple[int, int, str], int] = {}


def parse(tokens: list[LexedToken]) -> Expr:
    """The expression that the tokens make. Raises TemplateError."""
    actions, gotos, productions = tables()
    states: list[int] = [0]
    values: build._Parts = []
    starts: list[int] = []
    ends: list[int] = []
    for token in tokens:
        kind, value, start, end = token
        while True:
            act = actions[states[-1]].get(kind)
            if act is None:
                raise _unexpected(token, tokens, states)
            if act > 0:
                states.append(act)
                values.append(value)
                starts.append(start)
                ends.append(end)
                break
            if act == 0:
                return _checked(values[0], len(tokens))
            origin, size, maker = productions[-act]
            if maker is None:
                # Nothing but the state changes: the way up a column of precedences is taken in one stride.
                # A plain name climbs a dozen levels of precedence that change nothing; the climb is the same each
                # time.
                here = (states[-2], states[-1], kind)
                states[-1] = _passed.get(here) or _pass_on(here)
            elif size == 1:
                values[-1] = maker(values[-1:], starts[-1], ends[-1])
                states.pop()
                states.append(gotos[states[-1]][origin])
            elif size:
                made = maker(values[-size:], starts[-size], ends[-1])
                del states[-size:], values[-size:], starts[1 - size :]
                ends[-size:] = ends[-1:]
                states.append(gotos[states[-1]][origin])
                values.append(made)
            else:
                states.append(gotos[states[-1]][origin])
                values.append(maker([], start, start))
                starts.append(start)
                ends.append(start)
    raise AssertionError("the tokens end with END")


def _pass_on(here: tuple[int, int, str]) -> int:
    actions, gotos, productions = tables()
    under, state, kind = here
    while True:
        act = actions[state].get(kind)
        # The climb ends where something is shifted, refused, or made: that is for the loop of `parse`.
        if act is None or act >= 0 or productions[-act][2] is not None:
            _passed[here] = state
            return state
        state = gotos[under][productions[-act][0]]


def _checked(expr: Expr, size: int) -> Expr:
    # A tree has no more levels than the text has tokens, so that short expressions are never walked.
    if size <= MAX_DEPTH:
        return expr
    # Level by level instead of by recursion, which the very trees that are refused here would exhaust.
    level, depth = [expr], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise TemplateError(
                f"the expression is nested or chained more than {MAX_DEPTH} levels deep", expr.start, expr.end,
                "use `in [...]` for a chain of `or`, `select` or `sum` for others, or compute parts in a task",
            )  # fmt: skip
        level = [inner for here in level for inner in children(here)]
    return expr


def _unexpected(token: LexedToken, tokens: list[LexedToken], states: list[int]) -> TemplateError:
    kind, value, start, end = token
    wanted = _accepted(states)
    words = []
    # A list of thirty terminals helps nobody, so whole groups are named by one word.
    if wanted.issuperset(_OPERANDS):
        words.append("a value")
        wanted -= _OPERANDS | {"NOT"}
    if wanted.issuperset(_OPERATORS):
        words.append("an operator")
        wanted -= _OPERATORS | _LESSER | {"PLUS", "MINUS", "LPAR", "LSQB"}
    words += sorted(_SHOWN[word] for word in wanted if word in _SHOWN)
    found = "the end of the expression" if kind == END else f"`{value}`" if kind != "STRING" else "text"
    if len(tokens) == 1:
        return TemplateError("the braces are empty: expected an expression", start, end)
    expected = " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    before = tokens[tokens.index(token) - 1] if tokens.index(token) else None
    help = _HINTS.get(kind, "")
    # A second `|` is `||`, the "or" of other languages; a single one is a filter that lacks something.
    if kind == "PIPE" and (before is None or before[0] != "PIPE"):
        help = ""
    return TemplateError(f"expected {expected}, found {found}", start, end, help)


def _accepted(states: list[int]) -> set[str]:
    """The terminals that the parser could shift next: not all that have an action, as some only reduce."""
    actions = tables().actions
    return {kind for kind in actions[states[-1]] if _shifts(list(states), kind)}


def _shifts(states: list[int], kind: str) -> bool:
    actions, gotos, productions = tables()
    while True:
        act = actions[states[-1]].get(kind)
        if act is None:
            return False
        if act >= 0:
            return True
        origin, size, _ = productions[-act]
        if size:
            del states[-size:]
        states.append(gotos[states[-1]][origin])
