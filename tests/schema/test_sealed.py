"""On a secret an operation gives what it gives on the true value, hidden, or it is a fault: never one on the marker.

The oracle is the same expression on the plain text: what comes out of the sealed one, put back, must be equal.
"""

from collections.abc import Callable

import pytest

from noetl.worker.redaction import Redactor
from noetl_ir.evaluate import Fault, compile_template
from noetl_ir.evaluate.predicates import TESTS
from noetl_ir.evaluate.selecting import FILTERS
from noetl_ir.expr import Json, Native
from noetl_ir.scopes import vocabulary
from noetl_ir.scopes.play import PlayScope
from noetl_ir.scopes.values import Sealed
from noetlc.expr.parser import parse_template
from noetlc.rules.secret_operation import secret_operations

TRUE = 'se"cret/ 0001 ü'
REDACTOR = Redactor(b"k" * 32, lambda entry, field: TRUE)
REDACTOR.learn([("s", "value", TRUE)])

ALLOWED = {"length", "count", "urlencode", "b64encode", "tojson", "default", "d"}
"""Filters that work on a secret."""
ARGUMENTS = {
    "batch": "(2)", "format": "(1)", "groupby": "('x')", "map": "('upper')", "reject": "('string')",
    "select": "('string')",
    "rejectattr": "('x')", "selectattr": "('x')", "replace": "('s', 't')", "slice": "(2)", "join": "('-')",
    "default": "('x')", "d": "('x')", "truncate": "(9)", "indent": "(2)",
}  # fmt: skip
TESTED = {
    "divisibleby": "(2)", "eq": "('x')", "equalto": "('x')", "ge": "('x')", "greaterthan": "('x')", "gt": "('x')",
    "in": "(['x'])", "le": "('x')", "lessthan": "('x')", "lt": "('x')", "ne": "('x')", "sameas": "('x')",
}  # fmt: skip
SHAPES = {
    "alone": "keychain.s.value",
    "joined": "('user:' ~ keychain.s.value)",
    "added": "(keychain.s.value + '!')",
    "chosen": "(keychain.s.value if true else '')",
    "in a list": "[keychain.s.value, 'x']",
    "in a mapping": "{'a': keychain.s.value}",
    "in pairs": "[('a', keychain.s.value)]",
}
METHODS = {
    "get": "('x')", "keys": "()", "values": "()", "items": "()", "split": "('e')", "strip": "()", "lower": "()",
    "upper": "()", "startswith": "('s')", "endswith": "('s')", "replace": "('s', 't')", "join": "(['a', 'b'])",
}  # fmt: skip
OPERATIONS = [
    "{} ~ 'x'", "'x' ~ {} ~ 1", "{} + 'x'", "'x' + {}", "{} + 1", "{} - 1", "{} * 2", "2 * {}", "{} / 2", "{} // 2",
    "{} % 2", "'%s' % {}", "{} ** 2", "-{}", "+{}", "not {}", "{} and 1", "{} or 1", "1 if {} else 2",
    "{} == TRUE", "TRUE == {}", "{} != TRUE", "{} == 'x'", "{} == none", "{} < 'z'", "'z' < {}", "{} <= TRUE",
    "{} > 'z'", "{} >= TRUE", "{} < 1", "'cret' in {}", "{} in ['x', TRUE]", "{} in 'x'", "TRUE in {}", "{} not in []",
    "{}[0]", "{}[1:3]", "{}.x", "{}['x']", "[{}, 'y'] | join('-')", "['a', 'b'] | join({})", "'x' | replace('x', {})",
    "'%s' | format({})", "{{'k': {}}}", "[{}, {}]", "[{}] == [TRUE]", "{{{}: 1}}", "'x' | default({})",
    "none | d({}, true)",
    "range({})", "dict(a={})", "[{}] | map('upper') | list", "[{}] | map('length') | list",
    "[{}] | select('string') | list",
    "[{}, 'a'] | sort", "[{}, 'a'] | max", "[{}, {}] | unique", "[{}] | first", "{{'a': {}}} | urlencode",
    "{{'a': [{}]}} | tojson", "{{'a': {}}} | dictsort", "{{'a': {}}} | xmlattr", "{{'a': {}}}.items() | list",
    "'abc'.startswith({})", "'abc'.replace('a', {})", "'-'.join([{}])", "'7' | int({})",
]  # fmt: skip
MUST_WORK = {
    "{} ~ 'x'", "'x' ~ {} ~ 1", "{} + 'x'", "'x' + {}", "{} == TRUE", "TRUE == {}", "{} != TRUE", "{} == 'x'",
    "{} == none", "{} < 'z'", "'z' < {}", "{} <= TRUE", "{} > 'z'", "{} >= TRUE", "'cret' in {}",
    "{} in ['x', TRUE]", "{} in 'x'",
    "not {}", "{} or 1", "1 if {} else 2", "[{}, 'y'] | join('-')", "['a', 'b'] | join({})", "{{'a': {}}} | urlencode",
    "{{'a': [{}]}} | tojson",
}  # fmt: skip


def run(text: str) -> Callable[[PlayScope], Json]:
    """A template compiled, to be evaluated in a scope."""
    template, errors = parse_template(text)
    assert not errors, (text, errors)
    return compile_template(template)


def value_of(text: str, secret: object, *, as_text: bool) -> Json:
    """The value of a template where the keychain holds `secret`, put back. Raises Fault."""
    asked = text.replace("TRUE", repr(TRUE))
    found = run(f"<{{{{ {asked} }}}}>" if as_text else f"{{{{ {asked} }}}}")(
        PlayScope({"keychain": {"s": {"value": secret}}})
    )
    if isinstance(secret, Sealed):
        assert TRUE not in repr(found), "it left an expression"
    return REDACTOR.restore(found)


def is_told(text: str) -> bool:
    """Whether the compiler says that a template does to a secret what cannot be done to one."""
    template, _ = parse_template(f"{{{{ {text.replace('TRUE', repr(TRUE))} }}}}")
    assert isinstance(template, Native)
    return any(secret_operations(template.expr, lambda name, field: (name, field) == ("s", "value")))


def outcome(text: str, secret: object, *, as_text: bool) -> tuple[str, Json]:
    try:
        return "value", value_of(text, secret, as_text=as_text)
    except Fault as fault:
        assert not isinstance(secret, Sealed) or TRUE not in fault.message
        return "fault", fault.code


def assert_never_the_marker(text: str, *, must_work: bool = False) -> None:
    """The sealed text gives what the plain one gives, or a fault."""
    for as_text in (False, True):
        ours = outcome(text, Sealed(TRUE, REDACTOR.redact_text), as_text=as_text)
        plain = outcome(text, TRUE, as_text=as_text)
        if ours[0] == "fault":
            assert ours[1] in ("template.error", "template.undefined"), (text, ours)
            assert not must_work or (plain[0] == "fault"), (text, ours, plain)
        else:
            assert ours == plain, text
            assert not is_told(text), "it works, and is told as an error"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", sorted(FILTERS))
def test_filters(name: str, shape: str) -> None:
    text = f"{SHAPES[shape]} | {name}{ARGUMENTS.get(name, '')}"
    if name in vocabulary.FILTERS:
        is_text = shape in ("alone", "joined", "added", "chosen")
        assert_never_the_marker(text, must_work=is_text and name in ALLOWED)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", sorted(TESTS))
def test_tests(name: str, shape: str) -> None:
    if name in vocabulary.TESTS:
        assert_never_the_marker(f"{SHAPES[shape]} is {name}{TESTED.get(name, '')}")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", sorted(vocabulary.METHODS))
def test_methods(name: str, shape: str) -> None:
    assert_never_the_marker(f"{SHAPES[shape]}.{name}{METHODS[name]}")


@pytest.mark.parametrize("shape", ["alone", "joined", "added", "chosen"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_operators_and_places(operation: str, shape: str) -> None:
    text = operation.format(*[SHAPES[shape]] * 2)
    assert_never_the_marker(text, must_work=operation in MUST_WORK)


ALONE = ("alone", "joined", "added")
UNTOLD = {
    "{} + 1", "{} < 1",  # wrong with any text
    "'x' | default({})", "none | d({}, true)", "{{{}: 1}}", "[{}] | map('upper') | list", "[{}, 'a'] | sort",
    "'abc'.startswith({})", "'abc'.replace('a', {})", "'-'.join([{}])", "{{'a': {}}} | xmlattr", "[{}, {}] | unique",
}  # fmt: skip
"""Operations that fail on a secret and are not told: it is in something, or an argument."""


@pytest.mark.parametrize("shape", ALONE)
def test_what_cannot_be_done_to_a_secret_is_known_before_it_runs(shape: str) -> None:
    done = [
        *(f"{{}} | {name}{ARGUMENTS.get(name, '')}" for name in sorted(vocabulary.FILTERS)),
        *(f"{{}} is {name}{TESTED.get(name, '')}" for name in sorted(vocabulary.TESTS)),
        *(f"{{}}.{name}{METHODS[name]}" for name in sorted(vocabulary.METHODS)), *OPERATIONS,
    ]  # fmt: skip
    missed = []
    for operation in done:
        text = operation.format(*[SHAPES[shape]] * 2)
        fails = outcome(text, Sealed(TRUE, REDACTOR.redact_text), as_text=False)[0] == "fault"
        plain = outcome(text, TRUE, as_text=False)[0] == "value"
        if fails and plain and not is_told(text):
            missed.append(operation)
    assert set(missed) <= UNTOLD


@pytest.mark.parametrize("name", ["upper", "length", "trim", "urlencode", "b64encode", "reverse", "int", "tojson"])
def test_a_marker_that_stands_alone_in_data_is_not_worked_on(name: str) -> None:
    marker = REDACTOR.marker("s", "value", "value")
    with pytest.raises(Fault, match="secret"):
        run(f"{{{{ ctx.h | {name} }}}}")(PlayScope({"ctx": {"h": marker}}))
    with pytest.raises(Fault, match="secret"):
        run("{{ ctx.h.upper() }}")(PlayScope({"ctx": {"h": marker}}))
    kept = run("{{ ctx.h | default('x') }}")(PlayScope({"ctx": {"h": marker}}))
    assert REDACTOR.restore(kept) == TRUE
