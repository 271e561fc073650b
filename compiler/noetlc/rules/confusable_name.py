"""confusable-name: a name that looks like another one, or mixes alphabets.

Why it matters
    A Cyrillic `а` looks like a Latin `a`: an arc to the one does not lead to the other, and nobody sees why.
Example
    - {step: "p\\u0430y"}                      # Cyrillic а
    - {step: pay}
Instead
    Write the name in one alphabet.
When to ignore
    Where a name is given by another system in its own alphabet.
"""

from collections.abc import Iterator

from noetl_ir.span import Span
from noetlc.diag.diagnostic import Diagnostic, Related, Severity
from noetlc.rules import LintRule, Unit

_LOOKS_LIKE = str.maketrans(
    "аеорсухіјѕһԁԛԝАВЕКМНОРСТХІЈЅαονικΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aeopcyxijshdqwABEKMHOPCTXIJSaovikABEZHIKMNOPTYX"
)
"""Letters of other alphabets → the Latin letter that they look like."""

_ALPHABETS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE")


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Names of steps, tasks, iterators and workload keys that mix alphabets or look like another."""
    names = list(_names(unit))
    # Backwards, so that of several equal names the first in the file stays.
    plain = {name: span for name, span in reversed(names) if name.isascii()}
    told: set[str] = set()
    for name, span in names:
        if name.isascii() or name in told:
            continue
        told.add(name)
        twin = name.translate(_LOOKS_LIKE)
        if twin != name and twin in plain:
            yield RULE.finding(
                f"`{_escaped(name)}` looks like `{twin}`", span,
                help="write both in one alphabet", related=(Related(plain[twin], "the other one"),),
            )  # fmt: skip
        # A name in one foreign alphabet is its author's language, and no finding.
        elif len(mixed := _alphabets(name)) > 1:
            yield RULE.finding(
                f"`{_escaped(name)}` mixes letters of {' and '.join(sorted(mixed)).lower()}", span,
                help="write the name in one alphabet",
            )  # fmt: skip


def _names(unit: Unit) -> Iterator[tuple[str, Span]]:
    yield from unit.playbook.workload_spans
    for step in unit.playbook.steps:
        yield step.name, step.name_span
        if step.loop is not None:
            yield step.loop.iterator, step.loop.iterator_span
        yield from ((task.name, task.name_span) for task in step.tasks if task.name != f"{step.name}_task")


def _alphabets(name: str) -> set[str]:
    from unicodedata import name as character_name  # a millisecond that plain names need not pay

    words = (character_name(letter, "").partition(" ")[0] for letter in name if letter.isalpha())
    return {word for word in words if word in _ALPHABETS}


def _escaped(name: str) -> str:
    return name.encode("ascii", "backslashreplace").decode("ascii")


RULE = LintRule("NL214", Severity.WARNING, "ast", check)
